package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/wire"
)

// pusher brings the own events to the peers, and tells the peers what has come of theirs.
type pusher struct {
	*replica
	own   push.Outbox // own groups that a peer may still need
	fresh bool        // own groups were made in this step
	owed  []*peer     // the peers to which an ack is due
}

// made takes a group that an Update has just applied here.
func (u *pusher) made(g crdt.Group) {
	u.own.Add(g, 2*u.cfg.BacklogMax)
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
	for _, p := range u.peers {
		u.push(p, &shared)
	}
	if len(u.peers) == 0 {
		u.own.Forget(u.rep.Seq())
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
	w := &p.link(u.id).window
	for p.reachable && w.Open(u.cfg.PushFlight, u.cfg.PushWindow) {
		todo := u.own.After(w.Sent())
		if len(todo) == 0 {
			break
		}
		if shared.msg == nil || shared.after != w.Sent() {
			*shared = u.bundle(todo, w.Sent())
		}
		switch {
		case shared.bytes > u.cfg.GroupMax:
			u.sendStatus(p, false) // the peer finds that it lacks it, and is told to repair
		case shared.bytes <= u.cfg.FrameMax:
			u.send(p, Prompt, shared.msg)
		case !u.sendLarge(p, shared.msg, shared.bytes):
			u.watch(p)
			return // the end of a flow makes place
		default:
			w.PushFlow(shared.last)
			continue // as long as the flow lives it is in flight, and what is small goes on beside it
		}
		w.Push(shared.last, shared.bytes)
	}
	u.watch(p)
}

// pushTries is how often a push is repeated before the peer is only asked what it has.
const pushTries = 2

// retry repeats what was not acknowledged. Some peers get a small question instead: one that
// does not answer, one that has the events and only owes the commit, one whose place has left the
// window. What such a peer lacks then comes from the log. While a flow to a peer is under way, that
// peer gets the question about what is beside the flow; it answers as long as the flow gets on.
func (u *pusher) retry(p *peer) {
	w := &p.link(u.id).window
	if !w.Pending(p.voter) {
		return
	}
	lost := w.Lost()
	if u.flowing(p) {
		w.SetTries(p.flows.Tries())
		if u.pushTo(p); lost {
			u.sendStatus(p, true)
		}
		return
	}
	first, ok := u.own.First()
	if !ok {
		first = u.rep.Seq() + 1
	}
	if w.Try() <= pushTries && p.reachable && w.Rewind(first) {
		u.stats.Repushes++
		u.pushTo(p)
		return
	}
	u.sendStatus(p, true)
	u.watch(p)
}

// flowing reports whether an own group is on its way to the peer in parts.
func (u *pusher) flowing(p *peer) bool {
	found := false
	p.flows.Groups(uint8(u.id), u.cfg.Self, func(crdt.Range, int) { found = true })
	return found
}

// onAck takes what a peer has of the own events.
func (u *pusher) onAck(p *peer, a *wire.Ack) {
	w := &p.link(u.id).window
	if max(a.Echo, a.Content, a.Acked) > u.rep.Seq() || a.Acked > a.Content {
		u.malformed(p)
		return
	}
	progress := a.Content > w.Applied() || a.Acked > w.Counted()
	progress = w.Arrived(max(a.Echo, a.Content)) || progress
	u.learnOwn(p, a.Content, a.Acked)
	if progress {
		w.SetTries(0)
		w.Rest()
		u.forgetOwn()
	}
	u.pushTo(p)
}

// forgetOwn drops own groups that all peers have applied.
func (u *pusher) forgetOwn() {
	least := u.rep.Seq()
	for _, p := range u.peers {
		least = min(least, p.link(u.id).window.Applied())
	}
	u.own.Forget(least)
}

// sendAcks tells the peers what this replica has of them: after a push, and after a commit.
func (u *pusher) sendAcks() {
	for _, p := range u.owed {
		l := p.link(u.id)
		l.owes = false
		l.toldContent, l.toldAcked = u.content().Base(p.id), min(u.content().Base(p.id), u.acked().Base(p.id))
		u.send(p, Prompt, &wire.Ack{
			Epoch: u.view.Epoch, Space: u.id, Echo: max(l.echo, l.toldContent),
			Content: l.toldContent, Acked: l.toldAcked,
		})
	}
	u.owed = u.owed[:0]
}

// owe makes an ack to the peer due.
func (u *pusher) owe(p *peer) {
	if l := p.link(u.id); !l.owes {
		l.owes = true
		u.owed = append(u.owed, p)
	}
}

// oweNone forgets the acks that are due, when the peers change.
func (u *pusher) oweNone() {
	u.owed = u.owed[:0]
	for _, p := range u.peers {
		p.link(u.id).owes = false
	}
}

// oweAcked tells the peers what of theirs counts here, now that this replica may say so.
func (u *pusher) oweAcked() {
	for _, p := range u.peers {
		if u.acked().Base(p.id) > p.link(u.id).toldAcked {
			u.owe(p)
		}
	}
	u.noteAcks()
}
