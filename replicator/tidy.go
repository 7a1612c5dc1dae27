package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// One replica, the oldest voter, tidies up for all. It uses ordinary events. It removes items that
// no reader is shown any more (crdt.Replica.Sweep). It removes keys that were not written to for
// too long (expire.go). It folds what removed members have counted (fold.go). Two replicas may tidy
// up at the same time, because one of them lives in an older view. That does no harm: what they
// remove they have observed, and what they fold all members have (fold.go).
//
// Some members are gone, and some are about to come; neither are in the view, so their content
// looks alike. But content comes here by a chain of messages. Each message names an epoch in which
// the writer was a member, or a later one. So a replica that has heard of no newer view than its
// own knows that members outside the view are gone for good.

// Bounds of one round of tidying.
const (
	tidyItems = 1024 // that one group removes
	tidyKeys  = 256  // that expire together
	tidyScan  = 4096 // items looked at for counts to fold
)

// planTidying sees that there is a time for what there is to do.
func (m *Machine) planTidying() {
	if m.tidyAt.IsZero() && m.tidies() && (m.spaces[keyspace.Volatile].store.Littered() || m.spaces[keyspace.Durable].store.Littered() || m.folding.pending() || m.move.mayClear()) {
		m.tidyAt = m.now.Add(m.cfg.RetryInterval)
	}
}

// tidy does one round.
func (m *Machine) tidy() {
	if !m.tidies() {
		for _, s := range m.spaces {
			m.expiry.forgetConfirmed(s.id)
		}
		return
	}
	more := false
	if m.move.number == 0 { // else a move must find the counts as all have them
		var again time.Time
		if more, again = m.folding.fold(); !again.IsZero() {
			m.tidyAt = again
		}
	}
	more = m.move.clear() || more
	for _, s := range m.spaces {
		if s.holding.crowded() { // a peer that answers is far behind already
			more = true
			continue
		}
		if s.id == keyspace.Durable || m.move.number == 0 { // else it might change what is being moved
			more = s.sweep() || more
		}
		m.expireConfirmed(s)
	}
	if more {
		m.tidyAt = m.now.Add(m.cfg.GapDelay) // time for others to get a word in
	}
}

// sweep removes some of what no reader is shown, and reports whether there is more.
func (s *space) sweep() (more bool) {
	before := s.store.Len()
	g, more, err := s.rep.Sweep(tidyItems, &s.ch)
	if s.took(g, err) {
		s.stats.Swept += uint64(before - s.store.Len())
	}
	return more && err == nil
}

// showLiving hides what belongs to members that are not in the view, and shows what belongs to
// members that have come.
func (m *Machine) showLiving(ids ...crdt.Origin) {
	l := crdt.NewLiving(ids...)
	for _, s := range m.spaces {
		s.rep.SetLiving(l, &s.ch)
		m.subs.touch(s.replica)
		m.eff.Changed = m.eff.Changed || len(s.ch.Keys) > 0
		s.ch.Reset()
	}
}

// tidyDeadline is when there is something to do, zero: nothing that is known yet.
func (m *Machine) tidyDeadline() time.Time { return earlier(m.tidyAt, m.expiry.next()) }
