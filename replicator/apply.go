package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// waitList holds groups that remove what is not known here yet, until it comes. It is bounded: what
// does not fit is fetched later.
type waitList struct {
	groups []waiter
	bytes  int
}

type waiter struct {
	group crdt.Group
	from  crdt.Origin // the sender: it has what the group waits for
	needs crdt.Dot    // one dot that it waits for
	bytes int
}

// waitingMax bounds the groups of a waitList; their bytes are bounded by PushWindow.
const waitingMax = 1024

// onPush applies groups, and owes the sender an ack.
func (s *space) onPush(p *peer, msg *Push) {
	applied := false
	for _, g := range msg.Groups {
		applied = s.apply(p, g) || applied
	}
	if applied {
		s.release()
	}
	s.owe(p)
	if msg.Fill && msg.More && applied {
		s.tellClock(p, false)
	}
}

// apply applies one group of others, whole or not at all (R9), and reports whether it did.
func (s *space) apply(p *peer, g crdt.Group) bool {
	outcome, err := s.rep.Apply(g, &s.ch)
	if err != nil {
		s.m.malformed(p)
		return false
	}
	s.seen(p, g)
	switch outcome {
	case crdt.Applied:
		s.m.stats.Applied++
		s.absorb()
		return true
	case crdt.Duplicate:
		s.m.stats.Duplicates++
	case crdt.Waiting:
		s.wait(p, g)
	}
	return false
}

// seen notes what a sound group tells of its sender: the sender has this group. If the sender also
// made the group, the group is no longer on its way.
func (s *space) seen(p *peer, g crdt.Group) {
	first, last := g.First(), g.Last()
	if first.Origin == s.m.cfg.Self {
		return
	}
	l := p.link(s)
	l.content.AddRange(first.Origin, first.Seq, last.Seq)
	if first.Origin == p.id {
		l.echo = max(l.echo, last.Seq)
	}
}

// wait keeps a group for later, and sees that the gap is asked for unless it fills by itself soon.
func (s *space) wait(p *peer, g crdt.Group) {
	needs := s.ch.Missing[0]
	s.ch.Reset()
	if s.gapAt.IsZero() {
		s.gapAt = s.m.now.Add(s.m.cfg.GapDelay)
	}
	w := &s.waiting
	if slices.ContainsFunc(w.groups, func(x waiter) bool { return x.group[0].Dot == g[0].Dot && len(x.group) == len(g) }) {
		return
	}
	size := weigh(g)
	if len(w.groups) == waitingMax || w.bytes+size > s.m.cfg.PushWindow && len(w.groups) > 0 {
		s.m.stats.WaitingDropped++
		return
	}
	s.m.stats.Waited++
	w.groups = append(w.groups, waiter{group: g, from: p.id, needs: needs, bytes: size})
	w.bytes += size
}

// release applies the waiting groups that have got what they waited for.
func (s *space) release() {
	for again := true; again; {
		again = false
		for i := 0; i < len(s.waiting.groups); {
			w := &s.waiting.groups[i]
			if !s.content().Has(w.needs) || !s.retry(w) {
				i++
				continue
			}
			s.waiting.bytes -= w.bytes
			s.waiting.groups = slices.Delete(s.waiting.groups, i, i+1)
			again = true
		}
	}
	if len(s.waiting.groups) == 0 {
		s.gapAt = zeroTime
	}
}

// retry reports whether the group need not wait any more.
func (s *space) retry(w *waiter) bool {
	outcome, err := s.rep.Apply(w.group, &s.ch)
	if err == nil && outcome == crdt.Waiting {
		w.needs = s.ch.Missing[0]
		s.ch.Reset()
		return false
	}
	if err == nil && outcome == crdt.Applied {
		s.m.stats.Applied++
		s.absorb()
		if p := s.m.peer(w.group[0].Dot.Origin); p != nil {
			s.owe(p)
		}
	}
	return true
}

// askGap asks a sender of a waiting group for what is missing. It does so by sending the own clock
// to that sender.
func (s *space) askGap() {
	if len(s.waiting.groups) == 0 {
		return
	}
	s.gapAt = s.m.now.Add(s.m.cfg.RetryInterval)
	if s.pull != nil {
		return // the repair brings it
	}
	w := s.waiting.groups[s.m.rng.IntN(len(s.waiting.groups))]
	if p := s.m.peer(w.from); p != nil {
		s.tellClock(p, false)
		return
	}
	if p := s.donor(nil); p != nil {
		s.tellClock(p, false)
	}
}

// weigh estimates the bytes that a group holds.
func weigh(g crdt.Group) int {
	n := 0
	for i := range g {
		n += 64 + len(g[i].Key) + len(g[i].Path) + len(g[i].Payload) + 16*len(g[i].Removes)
	}
	return n
}
