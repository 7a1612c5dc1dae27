package replicator

import (
	"sort"

	"github.com/coterie-go/coterie/crdt"
)

// ownGroup is one Update's group, encoded once for all peers.
type ownGroup struct {
	group crdt.Group
	enc   []byte
	at    uint64 // bytes of all own groups before it
}

func (g *ownGroup) first() uint64 { return g.group[0].Dot.Seq }
func (g *ownGroup) last() uint64  { return g.group[len(g.group)-1].Dot.Seq }

// ownLog keeps the latest own groups, consecutive and in order, for pushing. It is a window: a peer
// that falls out of it is served from the store's log. So an absent peer does not make it grow.
type ownLog struct {
	groups fifo[ownGroup]
	bytes  int    // of groups
	total  uint64 // of all that were ever added
	chunk  []byte // what the next encodings are appended to
}

// ownOverhead is what a group is taken to cost beside its bytes.
const ownOverhead = 64

func (g *ownGroup) size() int { return len(g.enc) + ownOverhead }

func (o *ownLog) add(g ownGroup, bytesMax int) {
	g.at = o.total
	o.groups.push(g)
	o.total += uint64(g.size())
	o.bytes += g.size()
	for o.bytes > bytesMax && o.groups.len() > 1 {
		o.drop()
	}
}

func (o *ownLog) drop() {
	o.bytes -= o.groups.items()[0].size()
	o.groups.pop(1)
}

// chunkBytes is how much is allocated at once for encodings.
const chunkBytes = 16 << 10

// encode returns the encoding of a group, which shares its memory with those made before and after
// it.
func (o *ownLog) encode(g crdt.Group) []byte {
	n := weigh(g)
	if n > chunkBytes/4 {
		return crdt.AppendGroup(nil, g)
	}
	if n > cap(o.chunk)-len(o.chunk) {
		o.chunk = make([]byte, 0, chunkBytes)
	}
	at := len(o.chunk)
	o.chunk = crdt.AppendGroup(o.chunk, g)
	return o.chunk[at:len(o.chunk):len(o.chunk)]
}

// forget drops what every peer has applied.
func (o *ownLog) forget(have uint64) {
	for o.groups.len() > 0 && o.groups.items()[0].last() <= have {
		o.drop()
	}
}

// after returns the groups beyond an event.
func (o *ownLog) after(sent uint64) []ownGroup {
	all := o.groups.items()
	if n := len(all); n == 0 || all[n-1].last() <= sent {
		return nil
	}
	return all[sort.Search(len(all), func(i int) bool { return all[i].last() > sent }):]
}

// behind returns the bytes of the groups beyond an event; ok is false when some that come before
// those have been forgotten.
func (o *ownLog) behind(have uint64) (bytes int, ok bool) {
	rest := o.after(have)
	if len(rest) == 0 {
		return 0, true
	}
	return int(o.total - rest[0].at), rest[0].first() <= have+1
}

// keeps reports whether the group of an event is kept.
func (o *ownLog) keeps(seq uint64) bool {
	return o.groups.len() > 0 && o.groups.items()[0].first() <= seq
}

// made takes a group that an Update has just applied here.
func (s *space) made(g crdt.Group) {
	s.own.add(ownGroup{group: g, enc: s.own.encode(g)}, 2*s.m.cfg.BacklogMax)
	s.ownMoved = true
}

func (s *space) pushAll() {
	var shared pushed
	for _, p := range s.m.peers {
		s.push(p, &shared)
	}
	if len(s.m.peers) == 0 {
		s.own.forget(s.rep.Seq())
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
	l := p.link(s)
	for p.reachable && len(l.flight) < s.m.cfg.PushFlight && (l.bytes < s.m.cfg.PushWindow || len(l.flight) == 0) {
		todo := s.own.after(l.sent)
		if len(todo) == 0 {
			break
		}
		if shared.msg == nil || shared.after != l.sent {
			*shared = s.bundle(todo, l.sent)
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
			l.sent = shared.last
			continue // as long as the flow lives it is in flight, and what is small goes on beside it
		}
		l.sent = shared.last
		l.flight = append(l.flight, flight{last: shared.last, bytes: shared.bytes})
		l.bytes += shared.bytes
	}
	s.watch(p)
}

// bundle puts as many groups as fit into one frame into one message; one that does not fit alone
// goes alone, cut in transit.
func (s *space) bundle(todo []ownGroup, after uint64) pushed {
	n, bytes := 0, 0
	for n < len(todo) && (n == 0 || bytes+len(todo[n].enc) <= s.m.cfg.FrameMax) {
		bytes += len(todo[n].enc)
		n++
	}
	msg := &Push{Epoch: s.m.view.Epoch, Space: s.id, Groups: make([]crdt.Group, n), enc: make([][]byte, n)}
	for i := range n {
		msg.Groups[i], msg.enc[i] = todo[i].group, todo[i].enc
	}
	return pushed{after: after, msg: msg, last: todo[n-1].last(), bytes: bytes}
}

// watch arms the timer of a link on which something is unacknowledged.
func (s *space) watch(p *peer) {
	l := p.link(s)
	switch {
	case !p.pending(l):
		l.retryAt = zeroTime
	case l.retryAt.IsZero():
		l.retryAt = s.m.now.Add(s.m.backoff(l.tries))
		s.m.arm(l.retryAt)
	}
}

// pending reports whether an ack is outstanding. A peer that lacks what was made before it came can
// only send the echo. A learner can only tell that it has applied the push.
func (p *peer) pending(l *link) bool {
	return len(l.flight) > 0 || l.have >= l.from && (l.have < l.sent || p.voter && l.base < l.sent)
}

// pushTries is how often a push is repeated before the peer is only asked what it has.
const pushTries = 2

// retryPush repeats what was not acknowledged. Some peers get a small question instead: one that
// does not answer, one that has the events and only owes the commit, one whose place has left the
// window. What such a peer lacks then comes from the log. While a flow to a peer is under way, that
// peer gets the question about what is beside the flow; it answers as long as the flow gets on.
func (s *space) retryPush(p *peer) {
	l := p.link(s)
	if !p.pending(l) {
		return
	}
	first := s.rep.Seq() + 1
	if s.own.groups.len() > 0 {
		first = s.own.groups.items()[0].first()
	}
	back := max(l.have, l.from)
	lost := len(l.flight) > 0
	l.flight, l.bytes = l.flight[:0], 0
	if s.flowing(p) {
		l.tries = p.flows.tries
		if s.pushTo(p); lost {
			s.m.sendStatus(p, true)
		}
		return
	}
	l.tries++
	if p.reachable && l.tries <= pushTries && back < l.sent && first <= back+1 {
		s.m.stats.Repushes++
		l.sent = back
		s.pushTo(p)
		return
	}
	s.m.sendStatus(p, true)
	s.watch(p)
}

// flowing reports whether an own group is on its way to the peer in parts.
func (s *space) flowing(p *peer) bool {
	found := false
	p.flows.own(s.id, s.m.cfg.Self, func(crdt.Range, int) { found = true })
	return found
}

// onAck takes what a peer has of the own events.
func (s *space) onAck(p *peer, a *Ack) {
	l := p.link(s)
	if max(a.Echo, a.Content, a.Acked) > s.rep.Seq() || a.Acked > a.Content {
		s.m.malformed(p)
		return
	}
	progress := a.Content > l.have || a.Acked > l.base
	for len(l.flight) > 0 && l.flight[0].last <= max(a.Echo, a.Content) {
		l.bytes -= l.flight[0].bytes
		l.flight = append(l.flight[:0], l.flight[1:]...)
		progress = true
	}
	s.learnOwn(p, a.Content, a.Acked)
	if progress {
		l.tries, l.retryAt = 0, zeroTime
		s.forgetOwn()
	}
	s.pushTo(p)
}

// forgetOwn drops own groups that all peers have applied.
func (s *space) forgetOwn() {
	least := s.rep.Seq()
	for _, p := range s.m.peers {
		least = min(least, p.link(s).have)
	}
	s.own.forget(least)
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
