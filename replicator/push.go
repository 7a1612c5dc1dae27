package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// made takes a group that an Update has just applied here.
func (s *space) made(g crdt.Group) {
	s.own.Add(g, 2*s.m.cfg.BacklogMax)
	s.ownMoved = true
}

func (s *space) pushAll() {
	var shared pushed
	for _, p := range s.m.peers {
		s.push(p, &shared)
	}
	if len(s.m.peers) == 0 {
		s.own.Forget(s.rep.Seq())
	}
}

func (s *space) pushTo(p *peer) {
	var shared pushed
	s.push(p, &shared)
}

// pushed is the last message of a round of pushes, for the next peer that needs the same.
type pushed struct {
	after uint64
	msg   *Push
	last  uint64
	bytes int
}

// push sends what the peer's window allows. While PushFlight messages are unacknowledged, groups
// gather and then go together.
func (s *space) push(p *peer, shared *pushed) {
	w := &p.link(s).window
	for p.reachable && w.Open(s.m.cfg.PushFlight, s.m.cfg.PushWindow) {
		todo := s.own.After(w.Sent())
		if len(todo) == 0 {
			break
		}
		if shared.msg == nil || shared.after != w.Sent() {
			*shared = s.bundle(todo, w.Sent())
		}
		switch {
		case shared.bytes > s.m.cfg.GroupMax:
			s.m.sendStatus(p, false) // the peer finds that it lacks it, and is told to repair
		case shared.bytes <= s.m.cfg.FrameMax:
			s.m.send(p, Prompt, shared.msg)
		case !s.m.sendLarge(p, s.groupCargo(shared.msg.Groups[0]), shared.msg, shared.bytes):
			s.watch(p)
			return // the end of a flow makes place
		default:
			w.PushFlow(shared.last)
			continue // as long as the flow lives it is in flight, and what is small goes on beside it
		}
		w.Push(shared.last, shared.bytes)
	}
	s.watch(p)
}

// bundle makes a message of as many groups as fit into one frame.
func (s *space) bundle(todo []push.Group, after uint64) pushed {
	b := push.Bundled(todo, s.m.cfg.FrameMax)
	msg := &Push{Epoch: s.m.view.Epoch, Space: s.id, Groups: b.Groups, enc: b.Enc}
	return pushed{after: after, msg: msg, last: b.Last, bytes: b.Bytes}
}

// watch arms the timer of a link on which something is unacknowledged.
func (s *space) watch(p *peer) {
	w := &p.link(s).window
	if !w.Pending(p.voter) {
		w.Rest()
	} else if w.Arm(s.m.now.Add(s.m.backoff(w.Tries()))) {
		s.m.arm(w.RetryAt())
	}
}

// pushTries is how often a push is repeated before the peer is only asked what it has.
const pushTries = 2

// retryPush repeats what was not acknowledged. Some peers get a small question instead: one that
// does not answer, one that has the events and only owes the commit, one whose place has left the
// window. What such a peer lacks then comes from the log. While a flow to a peer is under way, that
// peer gets the question about what is beside the flow; it answers as long as the flow gets on.
func (s *space) retryPush(p *peer) {
	w := &p.link(s).window
	if !w.Pending(p.voter) {
		return
	}
	lost := w.Lost()
	if s.flowing(p) {
		w.SetTries(p.flows.Tries())
		if s.pushTo(p); lost {
			s.m.sendStatus(p, true)
		}
		return
	}
	first, ok := s.own.First()
	if !ok {
		first = s.rep.Seq() + 1
	}
	if w.Try() <= pushTries && p.reachable && w.Rewind(first) {
		s.m.stats.Repushes++
		s.pushTo(p)
		return
	}
	s.m.sendStatus(p, true)
	s.watch(p)
}

// flowing reports whether an own group is on its way to the peer in parts.
func (s *space) flowing(p *peer) bool {
	found := false
	p.flows.Groups(uint8(s.id), s.m.cfg.Self, func(crdt.Range, int) { found = true })
	return found
}

// onAck takes what a peer has of the own events.
func (s *space) onAck(p *peer, a *Ack) {
	w := &p.link(s).window
	if max(a.Echo, a.Content, a.Acked) > s.rep.Seq() || a.Acked > a.Content {
		s.m.malformed(p)
		return
	}
	progress := a.Content > w.Applied() || a.Acked > w.Counted()
	progress = w.Arrived(max(a.Echo, a.Content)) || progress
	s.learnOwn(p, a.Content, a.Acked)
	if progress {
		w.SetTries(0)
		w.Rest()
		s.forgetOwn()
	}
	s.pushTo(p)
}

// forgetOwn drops own groups that all peers have applied.
func (s *space) forgetOwn() {
	least := s.rep.Seq()
	for _, p := range s.m.peers {
		least = min(least, p.link(s).window.Applied())
	}
	s.own.Forget(least)
}

// sendAcks tells the peers what this replica has of them: after a push, and after a commit.
func (s *space) sendAcks() {
	for _, p := range s.owed {
		l := p.link(s)
		l.owes = false
		l.toldContent, l.toldAcked = s.content().Base(p.id), min(s.content().Base(p.id), s.acked().Base(p.id))
		s.m.send(p, Prompt, &Ack{Epoch: s.m.view.Epoch, Space: s.id, Echo: max(l.echo, l.toldContent), Content: l.toldContent, Acked: l.toldAcked})
	}
	s.owed = s.owed[:0]
}
