package replicator

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Incarnations that are over leave the clocks by a decision of the views (R16). Two views frame it:
//
//	View.Ending names them ──every member has told Retirable under one view──► View.Ended names them
//
// A member tells Retirable under a view when every member has told, under this view, exactly the
// events of these origins that it has itself: in the durable space, on the disk. From then on no
// member gets another one:
//
//  1. Members take nothing from nodes that are no members, so a member can only get what a member
//     had.
//  2. Take the first member that gets an event of these origins that it had not told. The member
//     that sent it had told all members the same events, before or after it sent this one. Before:
//     then it got the event since, and was first. After: then it told of the event, too.
//
// So when the second view comes, all its members hold the same events of these origins, and no node
// that is let in brings others: it is empty, or holds what a member told (Outdated). Each member
// then closes the origins (crdt/dots): its clock says that it has all of their events, and keeps
// nothing of how many there were. What lives of them stays as it is.
//
// Only a member closes them that has told Retirable under the view that counted, in this life. All
// others get the closed clock by a repair, which compares what lives. The volatile space of a
// cluster that is founded anew is empty, and has nothing to close.
//
// A member that cannot be reached delays the decision until it is removed.
type retirement struct {
	*replica.Site
	spaces  [keyspace.Count]*space
	told    uint64    // the epoch of the view under which this replica has last told Retirable
	at      time.Time // when to ask again
	tries   int
	changed bool // others have told more since the last look

	// For the mandate to fold what is closed (closedFolding). witness: this replica has seen each view
	// since the first that named the origins, and no member went meanwhile. heard: what all members had
	// in the durable space when it told Retirable; nil, if it is not the one to fold.
	witness bool
	heard   *crdt.Clock
}

func newRetirement(t *replica.Site, spaces [keyspace.Count]*space) retirement {
	return retirement{Site: t, spaces: spaces}
}

// waits reports whether it waits for what the members tell.
func (r *retirement) waits() bool { return !r.View.Ending.Empty() && r.told != r.View.Epoch }

// install follows the view. prev is the one before, with Epoch 0 when there was none. It returns the
// mandate to fold what the view closes, if this replica is the one to do so.
func (r *retirement) install(prev replica.View) (given *mandate) {
	v := r.View
	if !v.Ended.Empty() && (prev.Epoch != 0 && r.told == prev.Epoch && v.AgreedIn == prev.Epoch &&
		prev.Ending.Equal(v.Ended)) {
		r.close()
		if r.heard != nil {
			given = newMandate(v.Ended, r.heard)
		}
	}
	r.follow(prev)
	if prev.Epoch == 0 && !v.Founded && !v.Clean {
		r.Eff.Outdated = r.outdated()
	}
	r.at, r.tries, r.changed = time.Time{}, 0, false
	if r.waits() {
		r.changed, r.at = true, r.Now.Add(r.Cfg.RetryInterval)
	}
	return given
}

// follow begins a new view: what the members told under the last one is void.
func (r *retirement) follow(prev replica.View) {
	v := r.View
	r.heard = nil
	for _, p := range r.Peers {
		for id := range keyspace.Count {
			p.Link(id).Stated = nil
		}
	}
	next := prev.Epoch != 0 && v.Epoch == prev.Epoch+1
	switch {
	case v.Ending.Empty():
		r.witness = false
	case !v.Ending.Equal(prev.Ending):
		r.witness = next
	default:
		r.witness = r.witness && next && v.Keeps(prev)
	}
}

// close enters all dots of the origins that are over. Groups that wait for one of them go on.
func (r *retirement) close() {
	for _, s := range r.spaces {
		if s.Items.MergeDiff(r.View.Ended.Clock(s.ID), nil, nil, &s.Changes) != nil {
			s.Changes.Reset()
			continue // it would name this replica
		}
		s.Absorb()
		s.intake.Release()
	}
}

// outdated reports whether the disk has been away while origins were closed of which it holds
// something: what the members agreed on then it cannot tell from what they never knew.
func (r *retirement) outdated() bool {
	over := r.View.Ended.Clock(keyspace.Durable)
	c := r.spaces[keyspace.Durable].Content()
	return !c.Includes(over) && !c.And(over).Empty()
}

// heed keeps what a member tells under the installed view; of the durable space, if it is on disk
// there.
func (r *retirement) heed(p *replica.Peer, msg *wire.Clock) {
	if !r.waits() || msg.Epoch != r.View.Epoch {
		return
	}
	if over := r.View.Ending.Clock(msg.Space); msg.Acked != nil && !msg.Acked.And(over).Equal(msg.Content.And(over)) {
		return
	}
	p.Link(msg.Space).Stated, r.changed = msg.Content, true
}

// behind returns the clock of a member that has not installed the view by which origins were closed.
// It had all there was of them.
func (r *retirement) behind(p *replica.Peer, msg *wire.Clock) *crdt.Clock {
	if v := r.View; v.AgreedIn == 0 || msg.Epoch != v.AgreedIn || r.told < v.AgreedIn {
		return msg.Content
	}
	c := msg.Content.Clone()
	c.Join(r.View.Ended.Clock(msg.Space))
	return c
}

// advance tells Retirable when all members have told the same, or asks them.
func (r *retirement) advance() {
	if !r.Member || !r.waits() {
		return
	}
	due := r.Due(&r.at)
	if !r.changed && !due {
		return
	}
	r.changed = false
	if r.Cfg.Planted(defect.RetireUnasked) || r.Serves && r.agreed(keyspace.Volatile) && r.agreed(keyspace.Durable) {
		r.told, r.Eff.Retirable, r.at = r.View.Epoch, r.View.Epoch, time.Time{}
		if r.witness && r.Voter && r.Oldest == r.Cfg.Self {
			r.heard = r.stated()
		}
		return
	}
	if due {
		r.ask()
	}
}

// agreed reports whether all members have told exactly what is here of the origins in one space, and
// what is here counts.
func (r *retirement) agreed(id keyspace.Space) bool {
	s, over := r.spaces[id], r.View.Ending.Clock(id)
	here := s.Content().And(over)
	return s.Committed().Includes(here) && !slices.ContainsFunc(r.Peers, func(p *replica.Peer) bool {
		told := p.Link(id).Stated
		return told == nil || !told.And(over).Equal(here)
	})
}

// stated is what the members have told of the durable space; nil if some have not.
func (r *retirement) stated() *crdt.Clock {
	all := &crdt.Clock{}
	for _, p := range r.Peers {
		told := p.Link(keyspace.Durable).Stated
		if told == nil {
			return nil // only a planted defect lets it come so far
		}
		all.Join(told)
	}
	return all
}

// ask asks all members what they have.
func (r *retirement) ask() {
	for _, s := range r.spaces {
		for _, p := range r.Peers {
			s.TellClock(p, true)
		}
	}
	r.at = r.Now.Add(r.Cfg.GossipInterval + r.Cfg.RetryInterval<<min(r.tries, 4))
	r.tries++
}

// leave forgets what was told, when this replica is no member any more.
func (r *retirement) leave() {
	r.told, r.at, r.changed, r.witness, r.heard = 0, time.Time{}, false, false, nil
}

// check returns a broken invariant.
func (r *retirement) check() error {
	if r.Member && r.waits() && r.at.IsZero() && !r.changed {
		return fmt.Errorf("origins %v are not agreed on, and no timer runs", r.View.Ending)
	}
	return nil
}
