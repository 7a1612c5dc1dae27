package sim

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// durableKeys are the patterns of a process that is started now. Every third has an older
// configuration, without any. A process has none of a role that it does not have.
func (p *Process) durableKeys() (patterns []string) {
	if p.uid%3 == 0 {
		return nil
	}
	for _, s := range p.w.opt.NewKeys {
		switch {
		case p.w.now < int64(s.After):
		case s.Role == "":
			patterns = append(patterns, s.Pattern)
		case slices.Contains(p.slot.roles, s.Role):
			patterns = append(patterns, view.OfRole(s.Role, s.Pattern))
		}
	}
	return view.MergePatterns(patterns, nil)
}

// stores reports whether what a replica acknowledges of a set alone has to last as long as the set.
// It need not while its view does not have the key as durable: it was left behind, and others have
// a view that does.
func (r *replicaHost) stores(b *history.Set) bool {
	return !b.Durable || r.m.SpaceOf(b.Key) == keyspace.Durable
}
