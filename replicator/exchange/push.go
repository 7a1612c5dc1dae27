package exchange

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Pusher brings the own events to the peers, and tells the peers what has come of theirs.
type Pusher struct {
	r     *replica.Replica
	own   push.Outbox     // own groups that a peer may still need
	fresh bool            // own groups were made in this step
	owed  []*replica.Peer // the peers to which an ack is due
}

// NewPusher makes a pusher that has nothing to push.
func NewPusher(r *replica.Replica) Pusher { return Pusher{r: r} }

// Outbox returns the own groups that a peer may still need.
func (u *Pusher) Outbox() *push.Outbox { return &u.own }

// Check returns a broken invariant, between two steps.
func (u *Pusher) Check() error {
	switch {
	case u.own.Bytes() > 2*u.r.Cfg.BacklogMax && u.own.Len() > 1:
		return fmt.Errorf("%d bytes of own groups", u.own.Bytes())
	case len(u.owed) > 0 || u.fresh:
		return errors.New("acks or pushes of the step were not sent")
	}
	return nil
}

// Made takes a group that an Update has just applied here. asks has the acks answer replica.Asking.
func (u *Pusher) Made(g crdt.Group, asks bool) {
	u.own.Add(g, asks, 2*u.r.Cfg.BacklogMax)
	u.fresh = true
}

// PushFresh pushes what was made in this step.
func (u *Pusher) PushFresh() {
	if u.fresh {
		u.PushAll()
	}
	u.fresh = false
}

// PushAll pushes to every peer.
func (u *Pusher) PushAll() {
	var shared pushed
	for _, p := range u.r.Peers {
		u.push(p, &shared)
	}
	if len(u.r.Peers) == 0 {
		u.own.Forget(u.r.Items.Seq())
	}
}

// PushTo pushes to one peer.
func (u *Pusher) PushTo(p *replica.Peer) {
	var shared pushed
	u.push(p, &shared)
}

// pushed is the last message of a round of pushes, for the next peer that needs the same.
type pushed struct {
	after uint64
	msg   *wire.Push
	last  uint64
	bytes int
}

// push sends what the peer's window allows. While PushFlight messages are unacknowledged, groups
// gather and then go together.
func (u *Pusher) push(p *replica.Peer, shared *pushed) {
	w := &p.Link(u.r.ID).Window
	for p.Reachable && w.Open(u.r.Cfg.PushFlight, u.r.Cfg.PushWindow) {
		todo := u.own.After(w.Sent())
		if len(todo) == 0 {
			break
		}
		if shared.msg == nil || shared.after != w.Sent() {
			*shared = bundle(u.r, todo, w.Sent())
		}
		switch {
		case shared.bytes > u.r.Cfg.GroupMax:
			u.r.SendHoldings(p, false) // the peer finds that it lacks it, and is told to repair
		case shared.bytes <= u.r.Cfg.FrameMax:
			u.r.Send(p, effect.Prompt, shared.msg)
		case !u.r.SendLarge(p, shared.msg, shared.bytes):
			u.r.Watch(p)
			return // the end of a flow makes place
		default:
			w.PushFlow(shared.last)
			continue // as long as the flow lives it is in flight, and what is small goes on beside it
		}
		w.Push(shared.last, shared.bytes)
	}
	u.r.Watch(p)
}

// pushTries is how often a push is repeated before the peer is only asked what it has.
const pushTries = 2

// Retry repeats what was not acknowledged. Some peers get a small question instead: one that
// does not answer, one that has the events and only owes the commit, one whose place has left the
// window. What such a peer lacks then comes from the log. While a flow to a peer is under way, that
// peer gets the question about what is beside the flow; it answers as long as the flow gets on.
func (u *Pusher) Retry(p *replica.Peer) {
	w := &p.Link(u.r.ID).Window
	if !w.Pending(p.Voter) {
		return
	}
	lost := w.Lost()
	if u.flowing(p) {
		w.SetTries(p.Flows.Tries())
		if u.PushTo(p); lost {
			u.r.SendHoldings(p, true)
		}
		return
	}
	first, ok := u.own.First()
	if !ok {
		first = u.r.Items.Seq() + 1
	}
	if w.Try() <= pushTries && p.Reachable && w.Rewind(first) {
		u.r.Counters.Repushes++
		u.PushTo(p)
		return
	}
	u.r.SendHoldings(p, true)
	u.r.Watch(p)
}

// flowing reports whether an own group is on its way to the peer in parts.
func (u *Pusher) flowing(p *replica.Peer) bool {
	found := false
	p.Flows.Groups(uint8(u.r.ID), u.r.Cfg.Self, func(crdt.Range, int) { found = true })
	return found
}

// OnAck takes what a peer has of the own events, and reports whether that makes sense.
func (u *Pusher) OnAck(p *replica.Peer, a *wire.Ack) bool {
	w := &p.Link(u.r.ID).Window
	if max(a.Echo, a.Content, a.Acked) > u.r.Items.Seq() || a.Acked > a.Content {
		u.r.Malformed(p)
		return false
	}
	progress := a.Content > w.Applied() || a.Acked > w.Counted()
	progress = w.Arrived(max(a.Echo, a.Content)) || progress
	u.r.LearnOwn(p, a.Content, a.Acked)
	if progress {
		w.SetTries(0)
		w.Rest()
		u.forgetOwn()
	}
	u.PushTo(p)
	return true
}

// forgetOwn drops own groups that all peers have applied.
func (u *Pusher) forgetOwn() {
	least := u.r.Items.Seq()
	for _, p := range u.r.Peers {
		least = min(least, p.Link(u.r.ID).Window.Applied())
	}
	u.own.Forget(least)
}

// SendAcks tells the peers what this replica has of them: after a push, and after a commit.
func (u *Pusher) SendAcks() {
	for _, p := range u.owed {
		l := p.Link(u.r.ID)
		l.Owes = false
		answered := l.ToldAcked
		l.ToldContent, l.ToldAcked = u.r.Content().Base(p.ID), min(u.r.Content().Base(p.ID), u.r.Acked().Base(p.ID))
		msg := &wire.Ack{
			Epoch: u.r.View.Epoch, Space: u.r.ID, Echo: max(l.Echo, l.ToldContent),
			Content: l.ToldContent, Acked: l.ToldAcked,
		}
		if answered < min(l.AskedFor, l.ToldAcked) {
			msg.Answers = l.Asked
			if extra := u.r.Acked().Minus(l.Content); !extra.Empty() {
				msg.Extra = extra
			}
		}
		u.r.Send(p, effect.Prompt, msg)
	}
	u.owed = u.owed[:0]
}

// owe makes an ack to the peer due.
func (u *Pusher) owe(p *replica.Peer) {
	if l := p.Link(u.r.ID); !l.Owes {
		l.Owes = true
		u.owed = append(u.owed, p)
	}
}

// OweNone forgets the acks that are due, when the peers change.
func (u *Pusher) OweNone() {
	u.owed = u.owed[:0]
	for _, p := range u.r.Peers {
		p.Link(u.r.ID).Owes = false
	}
}

// OweAcked tells the peers what of theirs counts here, now that this replica may say so.
func (u *Pusher) OweAcked() {
	for _, p := range u.r.Peers {
		if u.r.Acked().Base(p.ID) > p.Link(u.r.ID).ToldAcked {
			u.owe(p)
		}
	}
	u.r.NoteAcks()
}

// bundle makes a message of as many groups as fit into one frame.
func bundle(r *replica.Replica, todo []push.Group, after uint64) pushed {
	b := push.Bundled(todo, r.Cfg.FrameMax)
	msg := &wire.Push{Epoch: r.View.Epoch, Space: r.ID, Groups: b.Groups, Encoded: b.Enc}
	if b.Asks {
		msg.Asks = r.Asking
	}
	return pushed{after: after, msg: msg, last: b.Last, bytes: b.Bytes}
}
