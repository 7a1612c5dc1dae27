package read

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A lookback is a read that takes no trip of its own: the acks of an update bring it. The push asks
// a question. A replica answers it with the ack that says that the events of the push count: what
// else counted there at that moment? When the own content contains what a quorum told, the update
// is answered with a state of its key. What is missing is mostly on its way, from its maker. So an
// update that has reached its level waits for that, at most for GapDelay. Then it is answered as if
// it had not asked.
//
// What that state has: take another replica that has read the key by agreement, as a linearizable
// read does, in a state without this update. Any two quorums share a replica. When that one agreed,
// the update did not count there. So its ack came later, and told all that it had agreed to. So of
// an update with a lookback and a linearizable read of its key, the read sees the update, or the
// lookback sees what the read saw. No order between the two replicas is needed for that, but the
// order of each one's own steps.
//
// The number of the question rises when the quorums change. So no ack counts that was sent before:
// what an older view had acknowledged may have been missing where it came from (R15).

// Lookback is what acks have told of the own updates of one space.
type Lookback struct {
	r       *replica.Replica
	ops     *operation.Inflight
	sets    *quorum.Joint[*replica.Peer] // whose quorums count
	waiting []looking                    // in the order of until
}

// looking is an update that has reached its level, and waits for what its acks have told.
type looking struct {
	o     *operation.Op
	until time.Time
}

// NewLookback makes a Lookback to which nothing was told. sets says whose quorums count.
func NewLookback(
	r *replica.Replica, ops *operation.Inflight, sets *quorum.Joint[*replica.Peer],
) Lookback {
	return Lookback{r: r, ops: ops, sets: sets}
}

// Bounds of the acks of one peer that wait for what they have told.
const (
	unseenMax = 8
	rangesMax = 1 << 10 // of one of them; where more is missing the updates are answered without a state
)

// OnAck takes what an ack tells beside the own events.
func (b *Lookback) OnAck(p *replica.Peer, a *wire.Ack) {
	if a.Answers == 0 || a.Answers != b.r.Asking || a.Epoch != b.r.View.Epoch {
		return // of an older question, or of an older view (R15)
	}
	if a.Extra != nil && ranges(a.Extra) > rangesMax {
		return
	}
	l := p.Link(b.r.ID)
	if len(l.Unseen) == unseenMax {
		l.Unseen = l.Unseen[:unseenMax-1]
	}
	l.Unseen = append(l.Unseen, replica.Unseen{UpTo: a.Acked, Extra: a.Extra})
	b.look(l)
}

// ranges counts the ranges of a clock, up to the first that is too many.
func ranges(c *crdt.Clock) (n int) {
	for range c.Ranges() {
		if n++; n > rangesMax {
			break
		}
	}
	return n
}

// Await takes an update that has reached its level.
func (b *Lookback) Await(o *operation.Op) {
	o.Looks = true
	b.waiting = append(b.waiting, looking{o, b.r.Now.Add(b.r.Cfg.GapDelay)})
}

// Complete answers the updates whose acks have told nothing that is missing here, those that have
// waited long enough, and those of keys that have become durable meanwhile.
func (b *Lookback) Complete() {
	if len(b.waiting) == 0 {
		return
	}
	for _, p := range b.r.Peers {
		b.look(p.Link(b.r.ID))
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(x looking) bool {
		switch {
		case x.o.Done(): // it has timed out
		case !b.r.Owns(x.o.Key): // it has moved, and its state is elsewhere
			b.ops.End(x.o, nil)
		case b.covers(x.o):
			b.ops.EndRead(x.o, b.r.Store.Peek(x.o.Key))
		case !b.r.Now.Before(x.until):
			b.ops.End(x.o, nil)
		default:
			return false
		}
		b.ops.Recycle(x.o)
		return true
	})
}

// Deadline is when the first update has waited long enough; zero: none waits.
func (b *Lookback) Deadline() time.Time {
	if len(b.waiting) == 0 {
		return time.Time{}
	}
	return b.waiting[0].until
}

// Drop forgets the updates; they have been answered.
func (b *Lookback) Drop() { b.waiting = nil }

// look finds what has come here of what a peer has told.
func (b *Lookback) look(l *replica.Link) {
	l.Unseen = slices.DeleteFunc(l.Unseen, func(u replica.Unseen) bool {
		here := u.Extra == nil || b.r.Content().Includes(u.Extra)
		if here {
			l.Seen = max(l.Seen, u.UpTo)
		}
		return here
	})
}

// covers reports whether enough replicas, when they acknowledged an update, had nothing that is
// missing here.
func (b *Lookback) covers(o *operation.Op) bool {
	return b.sets.Agreed(o.Level, func(p *replica.Peer) bool {
		if p == nil {
			return b.r.Acked().Base(b.r.Cfg.Self) >= o.Seq
		}
		return p.Link(b.r.ID).Seen >= o.Seq
	})
}

// Restart forgets what was told, because the quorums have changed.
func (b *Lookback) Restart() {
	b.r.Asking++
	for _, p := range b.r.Peers {
		l := p.Link(b.r.ID)
		l.Seen, l.Unseen = 0, nil
	}
}

// Check returns a broken invariant.
func (b *Lookback) Check() error {
	for _, p := range b.r.Peers {
		l := p.Link(b.r.ID)
		if l.Seen > l.Window.Counted() {
			return fmt.Errorf("of peer %s all is seen up to %d, and %d counts",
				wire.Short(p.ID), l.Seen, l.Window.Counted())
		}
		if len(l.Unseen) > unseenMax {
			return fmt.Errorf("of peer %s %d acks wait", wire.Short(p.ID), len(l.Unseen))
		}
	}
	return nil
}
