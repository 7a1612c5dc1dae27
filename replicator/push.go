package replicator

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/wire"
)

// pusher brings the own events to the peers, and tells the peers what has come of theirs.
type pusher struct {
	r     *replica
	own   push.Outbox // own groups that a peer may still need
	fresh bool        // own groups were made in this step
	owed  []*peer     // the peers to which an ack is due
}

func newPusher(r *replica) pusher { return pusher{r: r} }

// outbox returns the own groups that a peer may still need.
func (u *pusher) outbox() *push.Outbox { return &u.own }

// check returns a broken invariant, between two steps.
func (u *pusher) check() error {
	switch {
	case u.own.Bytes() > 2*u.r.cfg.BacklogMax && u.own.Len() > 1:
		return fmt.Errorf("%d bytes of own groups", u.own.Bytes())
	case len(u.owed) > 0 || u.fresh:
		return errors.New("acks or pushes of the step were not sent")
	}
	return nil
}

// made takes a group that an Update has just applied here.
func (u *pusher) made(g crdt.Group) {
	u.own.Add(g, 2*u.r.cfg.BacklogMax)
	u.fresh = true
}

// pushFresh pushes what was made in this step.
func (u *pusher) pushFresh() {
	if u.fresh {
		u.pushAll()
	}
	u.fresh = false
}

// pushAll pushes to every peer.
func (u *pusher) pushAll() {
	var shared pushed
	for _, p := range u.r.peers {
		u.push(p, &shared)
	}
	if len(u.r.peers) == 0 {
		u.own.Forget(u.r.rep.Seq())
	}
}

// pushTo pushes to one peer.
func (u *pusher) pushTo(p *peer) {
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
func (u *pusher) push(p *peer, shared *pushed) {
	w := &p.link(u.r.id).window
	for p.reachable && w.Open(u.r.cfg.PushFlight, u.r.cfg.PushWindow) {
		todo := u.own.After(w.Sent())
		if len(todo) == 0 {
			break
		}
		if shared.msg == nil || shared.after != w.Sent() {
			*shared = bundle(u.r, todo, w.Sent())
		}
		switch {
		case shared.bytes > u.r.cfg.GroupMax:
			u.r.sendStatus(p, false) // the peer finds that it lacks it, and is told to repair
		case shared.bytes <= u.r.cfg.FrameMax:
			u.r.send(p, effect.Prompt, shared.msg)
		case !u.r.sendLarge(p, shared.msg, shared.bytes):
			u.r.watch(p)
			return // the end of a flow makes place
		default:
			w.PushFlow(shared.last)
			continue // as long as the flow lives it is in flight, and what is small goes on beside it
		}
		w.Push(shared.last, shared.bytes)
	}
	u.r.watch(p)
}

// pushTries is how often a push is repeated before the peer is only asked what it has.
const pushTries = 2

// retry repeats what was not acknowledged. Some peers get a small question instead: one that
// does not answer, one that has the events and only owes the commit, one whose place has left the
// window. What such a peer lacks then comes from the log. While a flow to a peer is under way, that
// peer gets the question about what is beside the flow; it answers as long as the flow gets on.
func (u *pusher) retry(p *peer) {
	w := &p.link(u.r.id).window
	if !w.Pending(p.voter) {
		return
	}
	lost := w.Lost()
	if u.flowing(p) {
		w.SetTries(p.flows.Tries())
		if u.pushTo(p); lost {
			u.r.sendStatus(p, true)
		}
		return
	}
	first, ok := u.own.First()
	if !ok {
		first = u.r.rep.Seq() + 1
	}
	if w.Try() <= pushTries && p.reachable && w.Rewind(first) {
		u.r.stats.Repushes++
		u.pushTo(p)
		return
	}
	u.r.sendStatus(p, true)
	u.r.watch(p)
}

// flowing reports whether an own group is on its way to the peer in parts.
func (u *pusher) flowing(p *peer) bool {
	found := false
	p.flows.Groups(uint8(u.r.id), u.r.cfg.Self, func(crdt.Range, int) { found = true })
	return found
}

// onAck takes what a peer has of the own events.
func (u *pusher) onAck(p *peer, a *wire.Ack) {
	w := &p.link(u.r.id).window
	if max(a.Echo, a.Content, a.Acked) > u.r.rep.Seq() || a.Acked > a.Content {
		u.r.malformed(p)
		return
	}
	progress := a.Content > w.Applied() || a.Acked > w.Counted()
	progress = w.Arrived(max(a.Echo, a.Content)) || progress
	u.r.learnOwn(p, a.Content, a.Acked)
	if progress {
		w.SetTries(0)
		w.Rest()
		u.forgetOwn()
	}
	u.pushTo(p)
}

// forgetOwn drops own groups that all peers have applied.
func (u *pusher) forgetOwn() {
	least := u.r.rep.Seq()
	for _, p := range u.r.peers {
		least = min(least, p.link(u.r.id).window.Applied())
	}
	u.own.Forget(least)
}

// sendAcks tells the peers what this replica has of them: after a push, and after a commit.
func (u *pusher) sendAcks() {
	for _, p := range u.owed {
		l := p.link(u.r.id)
		l.owes = false
		l.toldContent, l.toldAcked = u.r.content().Base(p.id), min(u.r.content().Base(p.id), u.r.acked().Base(p.id))
		u.r.send(p, effect.Prompt, &wire.Ack{
			Epoch: u.r.view.Epoch, Space: u.r.id, Echo: max(l.echo, l.toldContent),
			Content: l.toldContent, Acked: l.toldAcked,
		})
	}
	u.owed = u.owed[:0]
}

// owe makes an ack to the peer due.
func (u *pusher) owe(p *peer) {
	if l := p.link(u.r.id); !l.owes {
		l.owes = true
		u.owed = append(u.owed, p)
	}
}

// oweNone forgets the acks that are due, when the peers change.
func (u *pusher) oweNone() {
	u.owed = u.owed[:0]
	for _, p := range u.r.peers {
		p.link(u.r.id).owes = false
	}
}

// oweAcked tells the peers what of theirs counts here, now that this replica may say so.
func (u *pusher) oweAcked() {
	for _, p := range u.r.peers {
		if u.r.acked().Base(p.id) > p.link(u.r.id).toldAcked {
			u.owe(p)
		}
	}
	u.r.noteAcks()
}

// bundle makes a message of as many groups as fit into one frame.
func bundle(r *replica, todo []push.Group, after uint64) pushed {
	b := push.Bundled(todo, r.cfg.FrameMax)
	msg := &wire.Push{Epoch: r.view.Epoch, Space: r.id, Groups: b.Groups, Encoded: b.Enc}
	return pushed{after: after, msg: msg, last: b.Last, bytes: b.Bytes}
}
