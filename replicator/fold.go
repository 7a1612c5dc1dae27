package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Folding brings what removed members have counted down to two items per counter
// (crdt.Replica.Fold). Without care, an event of a removed member that came after the fold of its
// counts would be counted twice. A fold of counts that a deleter has not seen would be lost, or
// would survive the delete. So the oldest folds only when every member, learners too, has told
// under the installed view what it has (Clock.Content), and
//
//   - the own content holds all that each of them told. A member of the view takes nothing from a
//     removed member and keeps none of its waiting groups. So it has, then and later, only events
//     of the removed member that were told by then. And a delete that the fold does not know was
//     made by a member that had told already;
//   - each of them told all that is here of the removed members and of the own earlier folds. So
//     the member that made that delete had seen what is folded;
//   - a member that comes later catches up with members that have seen it.
//
// The oldest stays the oldest until it is removed. Then its successor folds what its folds left,
// under a view without it. Each of these folds is known to some member of that view, and so to the
// successor, or to no member.
//
// A member that cannot be reached delays folding until it is removed. The durable space never
// folds: a disk may return that knows more than all present members.
type folding struct {
	*space
	census census
	todo   []crdt.Origin        // removed members that may have counted, the next first
	at     uint64               // the seq from which on to look
	ready  bool                 // all members have told, under the installed view, what they have to
	last   uint64               // the last own fold
	done   map[crdt.Origin]bool // nothing of them is left to fold
}

func newFolding(s *space) folding { return folding{space: s, census: census{Replica: s.Replica}} }

func (f *folding) pending() bool { return len(f.todo) > 0 }

// listens reports whether it waits for what the members tell. This ends when all have told enough:
// what is folded must have been here and there at one time.
func (f *folding) listens() bool { return f.pending() && !f.ready }

// start finds the removed members, after a view was installed.
func (f *folding) start() {
	f.todo, f.at, f.ready, f.census.tries = nil, 0, false, 0
	if f.Oldest != f.Cfg.Self || !f.Voter {
		f.done = nil // the replica that folds now leaves other items behind
		return
	}
	f.look()
}

// look finds the removed members that something still lives of.
func (f *folding) look() {
	done := map[crdt.Origin]bool{}
	f.todo, f.at = nil, 0
	for _, o := range f.Store.Authors() {
		switch {
		case !f.Removed(o):
		case f.done[o]:
			done[o] = true
		default:
			f.todo = append(f.todo, o)
		}
	}
	f.done = done
}

// agreed reports whether all members have told enough. If not, it asks them, and returns when to
// look again.
func (f *folding) agreed() (again time.Time, ok bool) {
	enough := f.enough()
	if f.Cfg.Planted(defect.FoldUnasked) || f.census.all(enough) {
		return again, true
	}
	return f.census.ask(enough), false
}

// enough returns what a member must have told: all that is here of the removed members and of the
// own earlier folds, and nothing that is not here.
func (f *folding) enough() func(told *crdt.Clock) bool {
	removed := &crdt.Clock{}
	for _, o := range f.Store.Authors() {
		if f.Removed(o) {
			removed.Join(f.Content().Of(o))
		}
	}
	return func(told *crdt.Clock) bool {
		return told.Includes(removed) && told.Base(f.Cfg.Self) >= f.last && f.Content().Includes(told)
	}
}

// toldByAll reports whether all members had an event when they told what they have.
func (f *folding) toldByAll(d crdt.Dot) bool {
	return f.Cfg.Planted(defect.FoldUnasked) || f.census.all(func(told *crdt.Clock) bool { return told.Has(d) })
}

// fold does a part of the work, and reports whether to go on at once. If it has to wait for
// members, it returns when to look again.
func (f *folding) fold() (more bool, again time.Time) {
	if !f.pending() || f.holding.Crowded() {
		return false, again
	}
	if !f.ready {
		var ok bool
		if again, ok = f.agreed(); !ok {
			return false, again
		}
		f.ready = true
		f.look() // the others may have told of more
		return f.pending(), again
	}
	gs, next, err := f.Items.FoldOf(f.todo[0], f.at, tidyScan, f.Removed, f.toldByAll, &f.Changes)
	if len(gs) > 0 {
		f.Absorb()
		for _, g := range gs {
			f.pusher.Made(g, false)
			f.last = g.Last().Seq
		}
		f.Counters.Folded += uint64(len(gs))
	}
	if f.at = next; next == 0 || err != nil {
		f.done[f.todo[0]] = true
		f.todo = f.todo[1:]
	}
	return f.pending(), again
}
