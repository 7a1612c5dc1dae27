package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// holding keeps the updates that are held back. They have not happened yet, and their callers wait.
//
// An update waits while a peer that answers is Config.BacklogMax bytes behind. So no replica
// outruns its peers without bound. A peer that is unreachable, or has not answered for
// RetryInterval, holds up no update: it is served from the log later, or repaired. An update also
// waits briefly while a linearizable read that was disturbed too often looks at its key.
//
// Invariants: held holds no operation that is done, except those that timed out in this step; of
// counts the operations in held of each key.
type holding struct {
	held   []*op // in order of arrival
	of     map[string]int
	frozen []freeze // by key
	thawAt time.Time
}

// freeze keeps updates of a key back until a time, and admits no other freeze until twice as late:
// writers get at least half.
type freeze struct {
	key   string
	until time.Time
	again time.Time
}

// frozenMax bounds the keys that are frozen at a time.
const frozenMax = 64

// hold reports whether an update has to wait. If so, it holds the update back.
func (s *space) hold(o *op, timeout time.Duration) bool {
	if !s.crowded() && !s.isFrozen(o.key) && s.of[o.key] == 0 {
		return false
	}
	s.m.stats.Held++
	s.m.begin(o, timeout)
	s.keepHeld(o)
	s.tellHolding()
	return true
}

// keepHeld enters an update among those that wait.
func (s *space) keepHeld(o *op) {
	s.held = append(s.held, o)
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.of[o.key]++
}

// crowded reports whether updates have to wait for a peer.
func (s *space) crowded() bool { return s.laggard() != nil }

// laggard returns a peer that answers and is as far behind as allowed, nil if there is none. After
// a silence, a peer may have fallen out of what is kept for pushing. Such a peer does not hold
// updates back: it gets what it needs from the log, or by a repair.
func (s *space) laggard() *peer {
	if s.own.Bytes() < s.m.cfg.BacklogMax {
		return nil
	}
	for _, p := range s.m.peers {
		w := &p.link(s).window
		if !p.reachable || w.Tries() > 0 || !w.InReach() {
			continue
		}
		// Groups that go in parts are left out: no update waits for one large group.
		if bytes, kept := s.own.Backlog(w.Applied(), &p.flows, uint8(s.id), s.m.cfg.Self); kept && bytes >= s.m.cfg.BacklogMax {
			return p
		}
	}
	return nil
}

// admit carries out the updates that need not wait any more, in order; those of a frozen key let
// others pass.
func (s *space) admit() {
	if len(s.held) == 0 {
		return
	}
	all := s.held
	s.held = nil
	for i, o := range all {
		switch {
		case o.done():
			s.unhold(o)
		case s.crowded():
			s.held = append(s.held, slices.DeleteFunc(all[i:], s.expired)...)
			return
		case s.isFrozen(o.key):
			s.held = append(s.held, o)
		default:
			s.unhold(o)
			s.update(o, 0)
		}
	}
}

func (s *space) expired(o *op) bool {
	if o.done() {
		s.unhold(o)
	}
	return o.done()
}

func (s *space) unhold(o *op) {
	if s.of[o.key]--; s.of[o.key] == 0 {
		delete(s.of, o.key)
	}
}

// freeze holds updates of a key back for a while, unless they were held back for one just now.
func (s *space) freeze(key string, d time.Duration) {
	now := s.m.now
	d = min(d, s.m.cfg.RetryInterval)
	s.thaw()
	if d <= 0 || len(s.frozen) == frozenMax || slices.ContainsFunc(s.frozen, func(f freeze) bool { return f.key == key }) {
		return
	}
	s.frozen = append(s.frozen, freeze{key: key, until: now.Add(d), again: now.Add(2 * d)})
	s.thawAt = earlier(s.thawAt, now.Add(d))
}

func (s *space) isFrozen(key string) bool {
	return slices.ContainsFunc(s.frozen, func(f freeze) bool { return f.key == key && s.m.now.Before(f.until) })
}

// thaw forgets the freezes that are over, and says when to look again.
func (s *space) thaw() {
	s.thawAt = zeroTime
	s.frozen = slices.DeleteFunc(s.frozen, func(f freeze) bool { return !s.m.now.Before(f.again) })
	for _, f := range s.frozen {
		at := f.until
		if !s.m.now.Before(at) {
			at = f.again
		}
		s.thawAt = earlier(s.thawAt, at)
	}
}

// dropHeld forgets everything that is held; the operations have been answered.
func (s *space) dropHeld() { s.holding = holding{} }

// update carries out an update whose turn has come.
func (s *space) update(o *op, timeout time.Duration) {
	m := s.m
	mutate := o.mutate
	o.mutate = nil
	var g crdt.Group
	var err error
	if o.forever {
		g, err = s.rep.DeleteForever(o.key, &s.ch)
	} else {
		g, err = s.rep.Update(o.key, m.now.UnixNano(), mutate, &s.ch)
	}
	if err != nil {
		s.ch.Reset()
		m.finishOp(o, err)
		return
	}
	if len(g) == 0 {
		o.goal = s.content().Clone()
		s.awaitGoal(o, timeout)
		return
	}
	s.absorb()
	s.made(g)
	o.seq = g.Last().Seq
	if s.id == Volatile && o.level == quorum.Local {
		m.finishOp(o, nil)
		return
	}
	m.begin(o, timeout)
	s.enqueue(o)
}

// heldBack reports whether an update never had its turn.
func (o *op) heldBack() bool { return o.mutate != nil }
