package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Table is what the other members of the installed view have said of themselves.
//
// Invariant: peers has an entry for every other member of the view and no more.
type Table struct {
	self  view.UID
	own   *Own
	peers map[view.UID]*peer
}

// peer is what another member has said. Frozen in flags, epoch, frozenAt and crashed belong to the
// epoch of the view.
type peer struct {
	flags    Flags // as its last heartbeat said
	settled  view.Epoch
	moved    uint16         // the last move of which it has done its part
	offers   []view.Service // for which a view had yet to list it
	agreed   view.Epoch     // the newest under which it has the same of the incarnations that end as all others
	epoch    view.Epoch     // of its last heartbeat
	frozenAt time.Time      // when it was first seen frozen
	crashed  []view.UID     // the members that it finds ended, sorted
	crashAt  time.Time      // when it said so

	knowsStopped bool       // it has said that it knows that this node has stopped
	learned      view.Epoch // of the newest view that it has said to know, beside its heartbeats
	closes       bool       // it has said that the layers above know a view that is Closing
}

// Said is what a heartbeat reports of its sender.
type Said struct {
	Flags   Flags
	Settled view.Epoch
	Moved   uint16
	Offers  []view.Service
}

// NewTable returns a Table without other members. For this node it answers by own.
func NewTable(self view.UID, own *Own) *Table {
	return &Table{self: self, own: own, peers: make(map[view.UID]*peer)}
}

// Follow takes a view that was just installed. Of its members it keeps what outlives an epoch.
func (t *Table) Follow(v *view.View) {
	others := 0
	for o := range view.Others(v.Members, t.self) {
		others++
		p := t.peers[o.UID]
		if p == nil {
			p = &peer{}
			t.peers[o.UID] = p
		}
		p.flags, p.epoch, p.frozenAt = p.flags&^Frozen, 0, time.Time{}
		p.crashed, p.crashAt = nil, time.Time{}
	}
	if len(t.peers) > others { // some are gone
		maps.DeleteFunc(t.peers, func(u view.UID, _ *peer) bool { return !v.Has(u) })
	}
}

// Has reports whether the uid is that of another member of the view.
func (t *Table) Has(u view.UID) bool { return t.peers[u] != nil }

// Hear takes what a heartbeat of another member reports, in the epoch of the view. news says that
// something may wait for it, and settled that it has settled more views.
func (t *Table) Hear(u view.UID, now time.Time, s Said) (news, settled bool) {
	p := t.peers[u]
	// else nothing waits for it (V4)
	news = p.flags != s.Flags || p.moved != s.Moved || p.settled < s.Settled && s.Flags&Stopped != 0 ||
		!slices.Equal(p.offers, s.Offers)
	p.flags = s.Flags | p.flags&forGood
	p.moved, p.offers = s.Moved, s.Offers
	if settled = p.settled < s.Settled; settled {
		p.settled = s.Settled
	}
	if p.flags&Frozen == 0 {
		p.frozenAt = time.Time{}
	} else if p.frozenAt.IsZero() {
		p.frozenAt = now
	}
	return news, settled
}

// HearForGood takes from a heartbeat of another epoch what no epoch revokes, and reports whether
// that is news. A node that was the last to stop may have said so, and gone, before the view arrived
// in which another waits for its word.
func (t *Table) HearForGood(u view.UID, f Flags) bool {
	p := t.peers[u]
	if p == nil || f&forGood&^p.flags == 0 {
		return false
	}
	p.flags |= f & forGood
	return true
}

// Arrive notes the epoch of another member's heartbeat, and reports whether that is a later one than
// before.
func (t *Table) Arrive(u view.UID, e view.Epoch) bool {
	p := t.peers[u]
	later := p.epoch < e
	p.epoch = e
	return later
}

// HearCrashed takes which members another member finds ended, and reports whether that is news.
func (t *Table) HearCrashed(u view.UID, now time.Time, crashed []view.UID) (news bool) {
	p := t.peers[u]
	news = !slices.Equal(p.crashed, crashed)
	p.crashed, p.crashAt = crashed, now
	return news
}

// Crashed returns which members another member finds ended, if it has said so at a time or after.
func (t *Table) Crashed(u view.UID, since time.Time) []view.UID {
	if p := t.peers[u]; p != nil && !p.crashAt.Before(since) {
		return p.crashed
	}
	return nil
}

// HearClosing notes whether another member's layers above know a view that is Closing.
func (t *Table) HearClosing(u view.UID, closes bool) { t.peers[u].closes = closes }

// Learn notes that a node knows the view of an epoch, and perhaps that this node has stopped. It
// reports whether the node is another member.
func (t *Table) Learn(u view.UID, e view.Epoch, stopped bool) bool {
	p := t.peers[u]
	if p == nil {
		return false
	}
	p.learned = max(p.learned, e)
	p.knowsStopped = p.knowsStopped || stopped
	return true
}

// Flags are those that a member, or this node, has reported; none for other nodes.
func (t *Table) Flags(u view.UID) Flags {
	if u == t.self {
		return t.own.flags
	}
	if p := t.peers[u]; p != nil {
		return p.flags
	}
	return 0
}

// Stopped reports whether a member, or this node, has said that it stopped.
func (t *Table) Stopped(u view.UID) bool { return t.Flags(u)&Stopped != 0 }

// Settled is the epoch up to which the replicators of a member, or of this node, have settled (V4).
func (t *Table) Settled(u view.UID) view.Epoch {
	if u == t.self {
		return t.own.settled
	}
	if p := t.peers[u]; p != nil {
		return p.settled
	}
	return 0
}

// Moved is the last move of keys of which a member, or this node, has done its part.
func (t *Table) Moved(u view.UID) uint16 {
	if u == t.self {
		return t.own.moved
	}
	if p := t.peers[u]; p != nil {
		return p.moved
	}
	return 0
}

// HearAgreed takes that another member has the same of the incarnations that end as all others, under
// the view of an epoch, and reports whether that is news.
func (t *Table) HearAgreed(u view.UID, e view.Epoch) (news bool) {
	p := t.peers[u]
	news = e > p.agreed
	p.agreed = max(p.agreed, e)
	return news
}

// Agreed is the newest epoch under which a member, or this node, has the same of the incarnations that
// end as all others.
func (t *Table) Agreed(u view.UID) view.Epoch {
	if u == t.self {
		return t.own.agreed
	}
	if p := t.peers[u]; p != nil {
		return p.agreed
	}
	return 0
}

// Offers are the services that a member, or this node, offers, as far as it knew of no view that lists
// it for them.
func (t *Table) Offers(u view.UID) []view.Service {
	if u == t.self {
		return t.own.offers
	}
	if p := t.peers[u]; p != nil {
		return p.offers
	}
	return nil
}

// FrozenAt returns when another member was first seen frozen in this epoch; zero = it is not.
func (t *Table) FrozenAt(u view.UID) time.Time {
	if p := t.peers[u]; p != nil {
		return p.frozenAt
	}
	return time.Time{}
}

// Closes reports whether the layers above of another member know a view that is Closing.
func (t *Table) Closes(u view.UID) bool { return t.peers[u].closes }

// Knows returns the newest epoch that another member has said to know, and whether it knows that
// this node has stopped.
func (t *Table) Knows(u view.UID) (e view.Epoch, stopped bool) {
	p := t.peers[u]
	return max(p.epoch, p.learned), p.knowsStopped
}

// Check verifies the invariants against the installed view.
func (t *Table) Check(v *view.View) error {
	if len(t.peers) != len(v.Members)-1 {
		return fmt.Errorf("%d peers of %d members", len(t.peers), len(v.Members))
	}
	for _, o := range v.Members {
		switch p := t.peers[o.UID]; {
		case o.UID == t.self && p != nil:
			return errors.New("a peer of itself")
		case o.UID != t.self && p == nil:
			return fmt.Errorf("no peer for %v", o)
		}
	}
	return nil
}
