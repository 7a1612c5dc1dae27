package replicator

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
)

// closedFolding folds in the durable space, where a disk may return that knows more than all
// present members. So it folds only what a retirement has closed (R16): of these origins no event
// can come any more, and a disk that was away meanwhile is refused. Two things are left that could
// make a sum wrong.
//
// Two replicas could fold the same counts, each without the other's fold. When both folds come
// together, the counts are there twice. And a delete could come that was made before its maker had
// seen the counts that are folded. So one replica folds what a retirement has closed, by a mandate:
//
//   - It was the oldest voter of the view under which all agreed. There is one such view, and it
//     has one such voter.
//   - It has seen each view from the first that named the origins to the one that closed them, and
//     no member went meanwhile. So each disk that is not refused later is of a member that told
//     what it has, under the view under which all agreed, or it was filled by such members.
//   - It has all that they told. So it knows each delete that was made before its maker had all of
//     the counts, and each fold by an earlier mandate: the replica that had that one has stopped
//     before it told, or its disk is refused.
//
// If that replica goes, or has not seen all of that, nothing is folded until the next retirement
// has ended: its mandate takes in what was left. What it folds it has from its own store, by an
// event that removes the counts and puts their sum. Replicas apply it like any other.
type closedFolding struct {
	foldWalk
	mandate *mandate // nil: another replica folds, or none
	ready   bool     // all that the members told is here
}

// mandate says what a replica alone may fold. It is not modified.
type mandate struct {
	over replica.Retirement
	dots *crdt.Clock // all of the origins that are over
	told *crdt.Clock // what the members told when they agreed
}

func newMandate(over replica.Retirement, told *crdt.Clock) *mandate {
	return &mandate{over: over, dots: over.Clock(keyspace.Durable), told: told}
}

// known reports whether all disks have an event, or had it, that are not refused. A fold by an
// earlier mandate need not be there. A delete by a replica that has not seen it takes the anchor,
// and all that it folds.
func (d *mandate) known(dot crdt.Dot) bool { return d.dots.Has(dot) || !d.over.Names(dot.Origin) }

func newClosedFolding(s *space) closedFolding { return closedFolding{foldWalk: foldWalk{space: s}} }

// start follows a view. given is the mandate that comes with it, nil if none does.
func (f *closedFolding) start(given *mandate) {
	if f.Cfg.Planted(defect.FoldUnwitnessed) && !f.View.Ended.Empty() {
		given = newMandate(f.View.Ended, &crdt.Clock{})
	}
	switch {
	case f.Oldest != f.Cfg.Self || !f.Voter:
		f.leave()
	case given != nil:
		f.mandate, f.ready = given, f.Content().Includes(given.told)
		f.look(given.over.Names)
	}
}

// leave gives the mandate up.
func (f *closedFolding) leave() {
	f.mandate, f.ready = nil, false
	f.stop()
}

// listen looks whether all is here that the members told, when something has come.
func (f *closedFolding) listen() {
	if f.mandate != nil && !f.ready && f.Moved {
		f.ready = f.Content().Includes(f.mandate.told)
	}
}

// pending reports whether there is something to fold now.
func (f *closedFolding) pending() bool { return f.ready && f.foldWalk.pending() }

// fold does a part of the work, and reports whether there is more.
func (f *closedFolding) fold() (more bool) {
	if f.pending() && !f.holding.Crowded() {
		f.advance(f.mandate.over.Names, f.mandate.known)
	}
	return f.pending()
}

// check returns a broken invariant.
func (f *closedFolding) check() error {
	switch d := f.mandate; {
	case d == nil && (f.ready || f.foldWalk.pending()):
		return fmt.Errorf("%d origins are to be folded without a mandate", len(f.todo))
	case d != nil && (f.Oldest != f.Cfg.Self || !f.Voter):
		return fmt.Errorf("a mandate to fold %v, and %v is the oldest voter", d.over, f.Oldest)
	case d != nil && !f.Content().Includes(d.dots):
		return fmt.Errorf("a mandate to fold %v, which are not closed", d.over)
	case f.ready && !f.Content().Includes(d.told):
		return fmt.Errorf("%v are folded without all that the members told", d.over)
	}
	return nil
}
