package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

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
	switch s.waiting.Add(g, p.id, needs, s.m.cfg.PushWindow, s.m.now.Add(s.m.cfg.GapDelay)) {
	case push.WaitsNow:
		s.m.stats.Waited++
	case push.WaitsNot:
		s.m.stats.WaitingDropped++
	}
}

// release applies the waiting groups that have got what they waited for.
func (s *space) release() {
	s.waiting.Release(func(d crdt.Dot) bool { return s.content().Has(d) }, s.retry)
}

// retry applies a group that has waited, and returns what it lacks now.
func (s *space) retry(g crdt.Group) (needs crdt.Dot, waits bool) {
	outcome, err := s.rep.Apply(g, &s.ch)
	if err == nil && outcome == crdt.Waiting {
		needs = s.ch.Missing[0]
		s.ch.Reset()
		return needs, true
	}
	if err == nil && outcome == crdt.Applied {
		s.m.stats.Applied++
		s.absorb()
		if p := s.m.peer(g[0].Dot.Origin); p != nil {
			s.owe(p)
		}
	}
	return needs, false
}

// askGap asks a sender of a waiting group for what is missing. It does so by sending the own clock
// to that sender.
func (s *space) askGap() {
	n := s.waiting.Len()
	if n == 0 {
		return
	}
	s.waiting.AskAgainAt(s.m.now.Add(s.m.cfg.RetryInterval))
	if s.puller.Running() {
		return // the repair brings it
	}
	if p := s.m.peer(s.waiting.From(s.m.rng.IntN(n))); p != nil {
		s.tellClock(p, false)
		return
	}
	for _, p := range s.m.favoured(s.m.peers, false) {
		if p.voter {
			s.tellClock(p, false)
			return
		}
	}
}
