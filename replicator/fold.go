package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Folding brings what removed members have counted down to two items per counter
// (crdt.Replica.FoldOf). Without care, an event of a removed member that came after the fold of its
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
// A member that cannot be reached delays folding until it is removed. That is so in the volatile
// space. In the durable one a disk may return that knows more than all present members: there
// closedFolding folds.
type folding struct {
	foldWalk
	census census
	ready  bool   // all members have told, under the installed view, what they have to
	last   uint64 // the last own fold
}

// foldWalk walks over what origins that are over have left in one space, and folds their counts.
type foldWalk struct {
	*space
	todo []crdt.Origin        // origins that are over and may have counted, the next first
	at   uint64               // the seq from which on to look
	done map[crdt.Origin]bool // nothing of them is left to fold
}

func (w *foldWalk) pending() bool { return len(w.todo) > 0 }

// stop ends the walk. The replica that folds next leaves other items behind.
func (w *foldWalk) stop() { w.todo, w.at, w.done = nil, 0, nil }

// look finds the origins that are over and that something still lives of.
func (w *foldWalk) look(over func(crdt.Origin) bool) {
	done := map[crdt.Origin]bool{}
	w.todo, w.at = nil, 0
	for _, o := range w.Store.Authors() {
		switch {
		case !over(o):
		case w.done[o]:
			done[o] = true
		default:
			w.todo = append(w.todo, o)
		}
	}
	w.done = done
}

// advance does a part of the work. It returns the last of the own events by which it folded, 0 if it did not.
func (w *foldWalk) advance(over func(crdt.Origin) bool, known func(crdt.Dot) bool) (last uint64) {
	gs, next, err := w.Items.FoldOf(w.todo[0], w.at, tidyScan, over, known, &w.Changes)
	if len(gs) > 0 {
		w.Absorb()
		for _, g := range gs {
			w.pusher.Made(g, false)
			last = g.Last().Seq
		}
		w.Counters.Folded += uint64(len(gs))
	}
	if w.at = next; next == 0 || err != nil {
		w.done[w.todo[0]] = true
		w.todo = w.todo[1:]
	}
	return last
}

func newFolding(s *space) folding {
	return folding{foldWalk: foldWalk{space: s}, census: census{Replica: s.Replica}}
}

// listens reports whether it waits for what the members tell. This ends when all have told enough:
// what is folded must have been here and there at one time.
func (f *folding) listens() bool { return f.pending() && !f.ready }

// start finds the removed members, after a view was installed.
func (f *folding) start() {
	f.ready, f.census.tries = false, 0
	if f.Oldest != f.Cfg.Self || !f.Voter {
		f.stop()
		return
	}
	f.look(f.Removed)
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
		f.look(f.Removed) // the others may have told of more
		return f.pending(), again
	}
	if last := f.advance(f.Removed, f.toldByAll); last > 0 {
		f.last = last
	}
	return f.pending(), again
}
