package ddata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// waiting says what the node waits for, for errors.
func (m *members) waiting() string {
	reason := "the first probes are on their way"
	if v := m.n.View(); v.Epoch > 0 {
		reason = m.notUp(v)
	} else if s := m.reason.Load(); s != nil {
		reason = *s
	}
	return m.n.connections.causes(reason)
}

// notUp says what a member lacks to be Up, with its data and its lease; if that is nothing, its
// view.
func (m *members) notUp(v *view.View) string {
	n := m.n
	var lacks []string
	if me, _ := v.Member(n.uid); me.Status == view.Joining && !v.Open() {
		lacks = n.cfg.tooFew(v)
	}
	for _, set := range keyspace.Datasets(n.cfg.Roles) {
		if !n.progress.hasCaughtUp(set) {
			lacks = append(lacks, fmt.Sprintf("the %v is not here yet, which takes a majority of its %d "+
				"members", set, full(v, set.Role)))
		}
	}
	if !n.HoldsLease() {
		lacks = append(lacks, "it holds no lease")
	}
	if len(lacks) == 0 {
		return fmt.Sprintf("the node is a member in view %v", v)
	}
	return fmt.Sprintf("the node is a member, and %s; view %v", strings.Join(lacks, "; "), v)
}

// tooFew says which gates of the first Up are not reached, with the numbers.
func (c Config) tooFew(v *view.View) (lacks []string) {
	if have, need := len(v.Members), c.MinMembers; have < need {
		lacks = append(lacks, fmt.Sprintf("%d of %d members are there (MinMembers)", have, need))
	}
	for _, role := range slices.Sorted(maps.Keys(c.PerRole)) {
		switch have, need := len(v.ByRole(role)), c.PerRole[role].MinMembers; {
		case have == 0 && need > 0:
			lacks = append(lacks, fmt.Sprintf("no member has the role %q, of which %d are needed (PerRole): "+
				"check its spelling in Roles", role, need))
		case have < need:
			lacks = append(lacks, fmt.Sprintf("%d of %d members of role %q are there (PerRole)", have, need, role))
		}
	}
	return lacks
}

// full counts the members of the role whose replicas count.
func full(v *view.View, role string) (count int) {
	for _, m := range v.ByRole(role) {
		if m.Full() {
			count++
		}
	}
	return count
}
