package replicator

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
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
// answer counts in its own epoch only (R15), so no quorum mixes members with different routes. The
// oldest voter removes the volatile items when all members have named the second view.
type move struct {
	*replica.Site
	from, to *space
	ops      *operation.Inflight
	census   census

	moving
	held     []*operation.Op // updates that wait for the second view
	leftover bool            // there may be volatile items of keys that have become durable
	clearAt  string          // the key at which to go on looking for them
}

// moving is what is known of one move until it ends.
type moving struct {
	number uint16            // of the move that runs, 0: none
	keys   keyspace.Patterns // that become durable
	step   moveStep
	goal   *crdt.Clock // of the volatile space, what all must have
	copied *crdt.Clock // of the durable space, the dots of what was adopted

	changed bool // others have told more since the last look
	at      time.Time
}

func newMove(from, to *space, ops *operation.Inflight) move {
	return move{Site: from.Site, from: from, to: to, ops: ops, census: census{Replica: from.Replica}}
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
func (mv *move) movesKey(key string) bool {
	return mv.number != 0 && mv.Routing.SpaceOf(key) == keyspace.Volatile && mv.keys.Match(key)
}

// hold lets an update wait for the view that makes its key durable. It reports whether it does.
func (mv *move) hold(o *operation.Op, timeout time.Duration) bool {
	if !mv.movesKey(o.Key) || mv.Cfg.Planted(defect.MoveUnfrozen) {
		return false
	}
	mv.Counters.Held++
	mv.ops.Begin(o, timeout)
	if len(mv.held) > 2*mv.ops.Pending()+64 {
		mv.held = slices.DeleteFunc(mv.held, (*operation.Op).Done)
	}
	mv.held = append(mv.held, o)
	return true
}

// installRoutes takes from a view which keys are durable. It returns the routes that held until
// now, nil if they go on to hold.
func (m *Machine) installRoutes(prev replica.View) (was *keyspace.Routes) {
	if prev.Epoch != 0 && slices.Equal(prev.Durable, m.site.View.Durable) {
		return nil
	}
	was, m.site.Routing = m.site.Routing, keyspace.NewRoutes(m.site.Cfg.DurableKeys, m.site.Own(m.site.View.Durable))
	m.site.Eff.Changed = true
	return was
}

// install follows the view: it begins a move, goes on with it, or ends it.
func (mv *move) install(rerouted bool, oldest crdt.Origin) {
	v := mv.View
	if rerouted || oldest != mv.Oldest {
		mv.leftover, mv.clearAt = v.Moves > 0, ""
	}
	if rerouted {
		mv.reroute()
	}
	switch {
	case !v.Move, len(mv.Own(v.Moving)) == 0 && mv.Cfg.Planted(defect.MoveElsewhere):
		mv.end()
		return
	case mv.number != v.Moves:
		mv.end()
		mv.number, mv.keys = v.Moves, keyspace.NewPatterns(mv.Own(v.Moving))
		mv.holdMoving()
	case !mv.waits():
		return // this replica has done its part under an earlier view
	}
	mv.step, mv.goal, mv.changed = moveGathers, nil, true
	mv.census.tries = 0
	mv.ask()
}

// end ends the move that runs, if one does.
func (mv *move) end() { mv.moving, mv.held = moving{}, nil }

// waits reports whether the move waits for what others tell.
func (mv *move) waits() bool { return mv.number != 0 && mv.step <= moveSpreads }

// holdMoving takes the updates that wait in the volatile space for something else.
func (mv *move) holdMoving() {
	mv.held = append(mv.held, mv.from.holding.Take(func(o *operation.Op) bool {
		return !o.Done() && mv.movesKey(o.Key)
	})...)
}

// heed keeps what a member tells.
func (mv *move) heed(p *replica.Peer, msg *wire.Clock) {
	mv.changed = mv.census.heed(p, msg) || mv.changed
}

// ask asks the members that have not told enough.
func (mv *move) ask() { mv.at = mv.census.ask(mv.enough()) }

// enough returns what a member must have told for this step of the move.
func (mv *move) enough() func(told *crdt.Clock) bool {
	if mv.step == moveSpreads {
		return func(told *crdt.Clock) bool { return told.Includes(mv.goal) }
	}
	return func(told *crdt.Clock) bool { return mv.from.Content().Includes(told) }
}

// advance takes the steps of a move that have become possible.
func (mv *move) advance() {
	if mv.number == 0 || !mv.Member {
		return
	}
	if mv.changed || mv.from.Moved {
		mv.changed = false
		if mv.step == moveGathers && mv.allTold() {
			mv.step, mv.goal = moveSpreads, mv.from.ContentCopy()
			mv.census.tries = 0
			mv.census.forget()
			mv.ask()
		}
		if mv.step == moveSpreads && mv.allTold() {
			mv.adopt()
		}
	}
	if mv.step == moveWrites && mv.to.Committed().Includes(mv.copied) {
		mv.step, mv.Eff.Moved = moveDone, mv.number
	}
}

func (mv *move) allTold() bool {
	return mv.Cfg.Planted(defect.MoveUnasked) || mv.census.all(mv.enough())
}

// adopt copies the items into the durable space, in one step.
func (mv *move) adopt() {
	copied, err := mv.to.Items.Adopt(mv.number, mv.items(), &mv.to.Changes)
	if err != nil {
		panic(fmt.Sprintf("replicator: items of the volatile space cannot be moved: %v", err))
	}
	mv.step, mv.copied, mv.goal, mv.at = moveWrites, copied, nil, time.Time{}
	mv.to.Absorb()
	mv.Counters.Moved++
}

// items yields the volatile items of the keys that become durable.
func (mv *move) items() iter.Seq[*crdt.Item] {
	return func(yield func(*crdt.Item) bool) {
		key, moves := "", false
		for it := range mv.from.Store.Snapshot().Items() {
			if it.Key != key {
				key, moves = it.Key, mv.movesKey(it.Key)
			}
			if moves && !yield(it) {
				return
			}
		}
	}
}

// reroute lets what waits for a key that has become durable wait in the durable space.
func (mv *move) reroute() {
	from, to := mv.from, mv.to
	for _, o := range mv.held {
		if !o.Done() {
			o.Space = mv.Routing.SpaceOf(o.Key)
			mv.spaceOf(o).holding.Keep(o)
		}
	}
	mv.held = nil
	goes := func(o *operation.Op) bool {
		return !o.Done() && o.Then == nil && mv.Routing.SpaceOf(o.Key) == keyspace.Durable
	}
	linear := from.compares.Take(goes)
	for _, o := range from.reads.Take(goes) {
		o.Space = keyspace.Durable
		to.reads.Begin(o, 0)
	}
	for _, o := range linear {
		o.Space = keyspace.Durable
		to.compares.Add(o)
	}
}

// spaceOf returns the space in which an operation's key lives.
func (mv *move) spaceOf(o *operation.Op) *space {
	if o.Space == keyspace.Durable {
		return mv.to
	}
	return mv.from
}

// mayClear reports whether this replica is the one that removes volatile items of durable keys, and
// no member reads them any more.
func (mv *move) mayClear() bool {
	behind := func(p *replica.Peer) bool { return p.Epoch < mv.View.Epoch }
	return mv.leftover && mv.Tidies() && !slices.ContainsFunc(mv.Peers, behind)
}

// clear removes some of them, and reports whether there may be more.
func (mv *move) clear() (more bool) {
	s := mv.from
	if !mv.mayClear() || s.holding.Crowded() {
		return false
	}
	var keys []string
	seen, last := 0, ""
	mv.leftover = false
	for it := range s.Store.Snapshot().ItemsFrom(mv.clearAt, "") {
		if seen++; it.Key == last {
			continue
		}
		if last = it.Key; seen > tidyScan || len(keys) == tidyKeys {
			mv.leftover, mv.clearAt = true, last
			break
		}
		if mv.Routing.SpaceOf(last) == keyspace.Durable {
			keys = append(keys, last)
		}
	}
	for _, key := range keys {
		s.took(s.Items.Clear(key, &s.Changes))
	}
	return mv.leftover
}

// check returns a broken invariant.
func (mv *move) check() error {
	switch {
	case mv.number == 0 && len(mv.held) > 0:
		return fmt.Errorf("%d updates wait for a move, and none runs", len(mv.held))
	case mv.number != 0 && mv.number != mv.View.Moves:
		return fmt.Errorf("move %d runs, the view has %d", mv.number, mv.View.Moves)
	case mv.waits() && mv.at.IsZero():
		return fmt.Errorf("move %d waits and no timer runs", mv.number)
	case mv.from.holding.Any(func(o *operation.Op) bool { return !o.Done() && mv.movesKey(o.Key) }):
		return fmt.Errorf("move %d: an update of its keys waits for something else", mv.number)
	}
	return nil
}
