package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// One replica tidies up for all: the oldest voter. It removes, by ordinary events, what nobody is shown any more (crdt.Replica.Sweep), keys that
// nobody has written to for too long (expire.go), and folds what removed members have counted (fold.go). Two who do so at the same time, because one
// of them lives in an older view, do no harm: what they remove they have observed, and what they fold everybody has (fold.go).
//
// What belongs to members that are gone is not told from what belongs to members that are about to come by looking at it: both are not in the view.
// But whatever somebody has written has come here by a chain of messages of which each names an epoch in which he was a member, or a later one. So
// who has heard of no newer view than his own knows that those who are not in it are gone for good.

// Bounds of one round of tidying.
const (
	tidyItems = 1024 // that one group removes
	tidyKeys  = 256  // that expire together
	tidyScan  = 4096 // items looked at for counts to fold
)

// tidies says whether this replica is the one that tidies up now.
func (m *Machine) tidies() bool {
	return m.serves && m.voter && m.oldest == m.cfg.Self && (m.heardOf <= m.view.Epoch || m.cfg.Faults.TidyInOldView)
}

// oldestOf returns the voter with the lowest up number, of several the one with the lowest id.
func oldestOf(v View) (id crdt.Origin) {
	var up uint32
	for i, p := range v.Voters {
		if i == 0 || p.UpNumber < up {
			id, up = p.ID, p.UpNumber
		}
	}
	return id
}

// planTidying sees that there is a time for what there is to do.
func (m *Machine) planTidying() {
	if m.tidyAt.IsZero() && m.tidies() && (m.spaces[Volatile].store.Littered() || m.spaces[Durable].store.Littered() || m.folding.pending()) {
		m.tidyAt = m.now.Add(m.cfg.RetryInterval)
	}
}

// tidy does one round.
func (m *Machine) tidy() {
	if !m.tidies() {
		for _, s := range m.spaces {
			s.forgetConfirmed()
		}
		return
	}
	more := m.fold()
	for _, s := range m.spaces {
		if s.crowded() { // a peer who listens is far behind already
			more = true
			continue
		}
		more = s.sweep() || more
		s.expireConfirmed()
	}
	if more {
		m.tidyAt = m.now.Add(m.cfg.GapDelay) // time for others to get a word in
	}
}

// sweep removes some of what nobody is shown, and says whether there is more.
func (s *space) sweep() (more bool) {
	before := s.store.Len()
	g, more, err := s.rep.Sweep(tidyItems, &s.ch)
	if err != nil || g == nil {
		s.ch.Reset()
		return more && err == nil
	}
	s.m.stats.Swept += uint64(before - s.store.Len())
	s.absorb()
	s.made(g)
	return more
}

// showLiving hides what belongs to those who are not in the view, and shows what belongs to those who have come.
func (m *Machine) showLiving(ids ...crdt.Origin) {
	l := crdt.NewLiving(ids...)
	for _, s := range m.spaces {
		s.rep.SetLiving(l, &s.ch)
		m.subs.touch(s.store, &s.ch)
		m.eff.Changed = m.eff.Changed || len(s.ch.Keys) > 0
		s.ch.Reset()
	}
}

// membersOf returns the ids of all members of a view.
func membersOf(v View) []crdt.Origin {
	ids := make([]crdt.Origin, 0, len(v.Voters)+len(v.Learners))
	for _, p := range v.Voters {
		ids = append(ids, p.ID)
	}
	for _, p := range v.Learners {
		ids = append(ids, p.ID)
	}
	return ids
}

// tidyDeadline is when there is something to do, zero: nothing that is known yet.
func (m *Machine) tidyDeadline() time.Time { return earlier(m.tidyAt, m.expiry.next(m)) }
