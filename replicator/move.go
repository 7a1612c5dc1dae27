package replicator

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// A move makes keys durable that have been volatile, while the cluster runs. Two views frame it:
//
//	View.Moving names them ──every member has told Moved──► View.Durable names them
//
// From the first view on no member changes these keys: updates wait, reads are answered from the
// volatile space. What a member has of them can then only grow by what another member had already.
// So there is a set of events that all will have, and a member knows that all have it when
//
//   - each has told, under the installed view, what it has, and all of that is here (the goal), and
//   - each has told after that a clock that includes the goal.
//
// Only then a member adopts the items into its durable space. All members adopt the same, with the
// same dots (crdt.Replica.Adopt), also those that do it under a later view: as long as the cluster
// runs, a member that is removed takes nothing of these keys along that the others lack. When the
// commit is on disk the member tells Moved, and the second view comes when all have.
//
// The second view changes the routes. What waited for the volatile space waits for the durable one
// from then on, except writes, which have happened: their items have been moved with the others. An
// answer counts in its own epoch only (V7), so no quorum mixes members with different routes. The
// oldest voter removes the volatile items when all members have named the second view.
type move struct {
	number uint16   // of the move that runs, 0: none
	keys   patterns // that become durable
	step   moveStep
	goal   *crdt.Clock // of the volatile space, what all must have
	copied *crdt.Clock // of the durable space, the dots of what was adopted

	changed bool // others have told more since the last look
	at      time.Time
	tries   int

	held     []*op  // updates that wait for the second view
	leftover bool   // there may be volatile items of keys that have become durable
	clearAt  string // the key at which to go on looking for them
}

// moveStep is how far a move has come at this replica.
type moveStep uint8

const (
	moveGathers moveStep = iota // what all have told is not here yet, or not all have told
	moveSpreads                 // it is here, and perhaps not everywhere
	moveWrites                  // adopted, perhaps not on disk
	moveDone
)

// movesKey reports whether a key is frozen because it becomes durable.
func (m *Machine) movesKey(key string) bool {
	return m.move.number != 0 && m.SpaceOf(key) == Volatile && m.move.keys.match(key)
}

// holdForMove lets an update wait for the view that makes its key durable.
func (m *Machine) holdForMove(o *op, timeout time.Duration) bool {
	if !m.movesKey(o.key) || m.cfg.Defects.MoveUnfrozen {
		return false
	}
	m.stats.Held++
	m.begin(o, timeout)
	if len(m.move.held) > 2*m.pending+64 {
		m.move.held = slices.DeleteFunc(m.move.held, (*op).done)
	}
	m.move.held = append(m.move.held, o)
	return true
}

// installRoutes takes from a view which keys are durable. It returns the routes that held until
// now, nil if they go on to hold.
func (m *Machine) installRoutes(prev View) (was *Routes) {
	if prev.Epoch != 0 && slices.Equal(prev.Durable, m.view.Durable) {
		return nil
	}
	was, m.routes = m.routes, newRoutes(m.cfg.DurableKeys, m.view.Durable)
	m.eff.Changed = true
	return was
}

// installMove follows the view: it begins a move, goes on with it, or ends it.
func (m *Machine) installMove(was *Routes, oldest crdt.Origin) {
	v, mv := m.view, &m.move
	if was != nil || oldest != m.oldest {
		mv.leftover, mv.clearAt = v.Moves > 0, ""
	}
	if was != nil {
		m.reroute(was)
	}
	switch {
	case len(v.Moving) == 0:
		*mv = move{leftover: mv.leftover, clearAt: mv.clearAt}
		return
	case mv.number != v.Moves:
		*mv = move{leftover: mv.leftover, clearAt: mv.clearAt, number: v.Moves, keys: newPatterns(v.Moving)}
		m.holdMoving()
	case !mv.waits():
		return // this replica has done its part under an earlier view
	}
	mv.step, mv.goal, mv.changed, mv.tries = moveGathers, nil, true, 0
	m.askMove()
}

// waits reports whether the move waits for what others tell.
func (mv *move) waits() bool { return mv.number != 0 && mv.step <= moveSpreads }

// holdMoving takes the updates that wait in the volatile space for something else.
func (m *Machine) holdMoving() {
	s := m.spaces[Volatile]
	s.held = slices.DeleteFunc(s.held, func(o *op) bool {
		if o.done() || !m.movesKey(o.key) {
			return false
		}
		s.unhold(o)
		m.move.held = append(m.move.held, o)
		return true
	})
}

// askMove asks the members that have not told enough.
func (m *Machine) askMove() {
	s, mv := m.spaces[Volatile], &m.move
	for _, p := range m.peers {
		if !m.toldForMove(p) {
			s.tellClock(p, true)
		}
	}
	mv.at = m.now.Add(m.backoff(mv.tries))
	mv.tries++
}

// toldForMove reports whether a member has told what this step of the move needs of it.
func (m *Machine) toldForMove(p *peer) bool {
	t := p.link(m.spaces[Volatile]).stated
	switch {
	case t == nil:
		return false
	case m.move.step == moveSpreads:
		return t.Includes(m.move.goal)
	}
	return m.spaces[Volatile].content().Includes(t)
}

// advanceMove takes the steps of a move that have become possible.
func (m *Machine) advanceMove() {
	mv := &m.move
	if mv.number == 0 || !m.member {
		return
	}
	if s := m.spaces[Volatile]; mv.changed || s.moved {
		mv.changed = false
		if mv.step == moveGathers && m.allToldForMove() {
			mv.step, mv.goal, mv.tries = moveSpreads, s.content().Clone(), 0
			for _, p := range m.peers {
				p.link(s).stated = nil
			}
			m.askMove()
		}
		if mv.step == moveSpreads && m.allToldForMove() {
			m.adoptMoved()
		}
	}
	if mv.step == moveWrites && m.spaces[Durable].committed().Includes(mv.copied) {
		mv.step, m.eff.Moved = moveDone, mv.number
	}
}

func (m *Machine) allToldForMove() bool {
	return m.cfg.Defects.MoveUnasked || !slices.ContainsFunc(m.peers, func(p *peer) bool { return !m.toldForMove(p) })
}

// adoptMoved copies the items into the durable space, in one step.
func (m *Machine) adoptMoved() {
	s, mv := m.spaces[Durable], &m.move
	copied, err := s.rep.Adopt(mv.number, m.movingItems(), &s.ch)
	if err != nil {
		panic(fmt.Sprintf("replicator: items of the volatile space cannot be moved: %v", err))
	}
	mv.step, mv.copied, mv.goal, mv.at = moveWrites, copied, nil, zeroTime
	s.absorb()
	m.stats.Moved++
}

// movingItems yields the volatile items of the keys that become durable.
func (m *Machine) movingItems() iter.Seq[*crdt.Item] {
	return func(yield func(*crdt.Item) bool) {
		key, moves := "", false
		for it := range m.spaces[Volatile].store.Snapshot().Items() {
			if it.Key != key {
				key, moves = it.Key, m.movesKey(it.Key)
			}
			if moves && !yield(it) {
				return
			}
		}
	}
}

// reroute lets what waits for a key that has become durable wait in the durable space.
func (m *Machine) reroute(was *Routes) {
	from, to := m.spaces[Volatile], m.spaces[Durable]
	for _, o := range m.move.held {
		if !o.done() {
			o.s = m.spaces[m.SpaceOf(o.key)]
			o.s.keepHeld(o)
		}
	}
	m.move.held = nil
	if from.comparing != nil {
		from.compareSoon(from.giveUp())
	}
	var reads, linear []*op
	for _, r := range from.rounds {
		r.ops, reads = m.splitMoved(r.ops, reads)
	}
	from.linear, linear = m.splitMoved(from.linear, nil)
	for _, o := range reads {
		o.s = to
		to.beginRead(o, 0)
	}
	for _, o := range linear {
		o.s = to
		to.compareLater(o)
	}
	m.expiry.prime(to) // of what came there before, nothing was counted
	m.tellMoved(was)
}

// splitMoved takes the callers' reads of keys that have become durable out of ops.
func (m *Machine) splitMoved(ops, moved []*op) (rest, all []*op) {
	rest = slices.DeleteFunc(ops, func(o *op) bool {
		goes := !o.done() && o.then == nil && m.SpaceOf(o.key) == Durable
		if goes {
			moved = append(moved, o)
		}
		return goes
	})
	return rest, moved
}

// mayClearMoved reports whether this replica is the one that removes volatile items of durable
// keys, and no member reads them any more.
func (m *Machine) mayClearMoved() bool {
	behind := func(p *peer) bool { return p.epoch < m.view.Epoch }
	return m.move.leftover && m.tidies() && !slices.ContainsFunc(m.peers, behind)
}

// clearMoved removes some of them, and reports whether there may be more.
func (m *Machine) clearMoved() (more bool) {
	s, mv := m.spaces[Volatile], &m.move
	if !m.mayClearMoved() || s.crowded() {
		return false
	}
	var keys []string
	seen, last := 0, ""
	mv.leftover = false
	for it := range s.store.Snapshot().ItemsFrom(mv.clearAt, "") {
		if seen++; it.Key == last {
			continue
		}
		if last = it.Key; seen > tidyScan || len(keys) == tidyKeys {
			mv.leftover, mv.clearAt = true, last
			break
		}
		if m.SpaceOf(last) == Durable {
			keys = append(keys, last)
		}
	}
	for _, key := range keys {
		g, err := s.rep.Clear(key, &s.ch)
		if err != nil || g == nil {
			s.ch.Reset()
			continue
		}
		s.absorb()
		s.made(g)
	}
	return mv.leftover
}

// tellMoved tells the subscriptions of keys whose durable state differs from the volatile one:
// another member had this view earlier, and what was written there came before it.
func (m *Machine) tellMoved(was *Routes) {
	from, to := m.spaces[Volatile].store, m.spaces[Durable].store
	if !m.subs.any() {
		return
	}
	for _, s := range []*crdt.Store{from, to} {
		for key := range s.Snapshot().Keys("") {
			if m.SpaceOf(key) != was.SpaceOf(key) && m.subs.follows(key) && !sameItems(from, to, key) {
				m.subs.mark(key).other = true
			}
		}
	}
}

// sameItems reports whether a key holds in both stores what a reader cannot tell apart.
func sameItems(a, b *crdt.Store, key string) bool {
	x, y := itemsOf(a, key), itemsOf(b, key)
	return len(x) > 0 && slices.EqualFunc(x, y, func(i, j *crdt.Item) bool {
		return i.Dot.Origin == j.Dot.Origin && i.Path == j.Path && i.Payload == j.Payload
	})
}

func itemsOf(s *crdt.Store, key string) (items []*crdt.Item) {
	for it := range s.Snapshot().ItemsFrom(key, "") {
		if it.Key != key {
			break
		}
		items = append(items, it)
	}
	return items
}

// check returns a broken invariant.
func (mv *move) check(m *Machine) error {
	switch {
	case mv.number == 0 && len(mv.held) > 0:
		return fmt.Errorf("%d updates wait for a move, and none runs", len(mv.held))
	case mv.number != 0 && mv.number != m.view.Moves:
		return fmt.Errorf("move %d runs, the view has %d", mv.number, m.view.Moves)
	case mv.waits() && mv.at.IsZero():
		return fmt.Errorf("move %d waits and no timer runs", mv.number)
	case slices.ContainsFunc(m.spaces[Volatile].held, func(o *op) bool { return !o.done() && m.movesKey(o.key) }):
		return fmt.Errorf("move %d: an update of its keys waits for something else", mv.number)
	}
	return nil
}
