package sim

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// A write that a majority has acknowledged may be missing for one reason only: its witnesses are
// gone. That is judged write by write. The witnesses of a write are the processes that ever said
// that they have it; in the durable space, that their disk has it.
//
// A view keeps a write as long as one of the voters that are left has it, and those that are left
// without it are no majority: whatever quorum answers for the view, the write is in it. A write is
// excused when none of the views that count keeps it, and the fates of its witnesses account for
// that: they were a majority of one of these views, and not all that are gone left as they should.
// Everything else that is missing is a violation.

// fate is what has become of a voter, or of its disk. Those further down are the weightier reasons.
type fate uint8

const (
	there   fate = iota
	left         // as it should: the others decided a view without it
	crashed      // its memory is gone
	dropped      // the others have gone on without it, and it was not leaving
	absent       // its disk is not among those with which the cluster was founded anew
	wiped        // its disk was damaged, and its operator has emptied it
	lied         // its disk has said that it has more than it has
	fates
)

var fateNames = [fates]string{"there", "left", "crashed", "dropped", "absent", "wiped", "lied"}

func (f fate) String() string { return fateNames[f] }

// Excuses count lost writes by reason: the weightiest of the fates of their witnesses.
type Excuses [fates]uint64

func (x Excuses) String() string {
	var b strings.Builder
	for f, n := range x {
		if n > 0 {
			fmt.Fprintf(&b, "%v:%d ", fate(f), n)
		}
	}
	return "[" + strings.TrimSuffix(b.String(), " ") + "]"
}

// add sums the counts of runs.
func (x *Excuses) add(o Excuses) {
	for f, n := range o {
		x[f] += n
	}
}

// fact is one update, as the checkers know it.
type fact struct {
	dot   crdt.Dot       // of its first event; the others are where that is; zero: it has not happened
	space keyspace.Space // in which it happened
	lost  fate           // why it may be missing; there: it may not
}

// happen notes that an update of a key happens at a replica, at this moment.
func (f *fact) happen(r *replicaHost, key string) {
	f.space = r.m.SpaceOf(key)
	self := crdt.Origin(r.p.uid)
	f.dot = crdt.Dot{Origin: self, Seq: r.m.Snapshot(f.space).Clock().Base(self) + 1}
}

// noting is an update that notes when it happens.
func (f *fact) noting(r *replicaHost, key string, mutate func(*crdt.Tx) error) func(*crdt.Tx) error {
	return func(tx *crdt.Tx) error {
		err := mutate(tx)
		if err == nil {
			f.happen(r, key)
		}
		return err
	}
}

// mayBeLost reports whether it has happened and is not excused yet.
func (f *fact) mayBeLost() bool { return f.dot.Seq != 0 && f.lost == there }

// excused reports whether it may be missing.
func (f *fact) excused() bool { return f.lost != there }

// has reports whether a replica has an event, or had it when it ended: in the durable space,
// whether its disk said so.
func (r *replicaHost) has(space keyspace.Space, d crdt.Dot) bool {
	if space == keyspace.Durable {
		return r.stored.Has(d)
	}
	return r.m.Snapshot(space).Clock().Has(d)
}

// knows reports whether a replica has applied an update of a key.
func (r *replicaHost) knows(key string, f fact) bool {
	return f.dot.Seq != 0 && r.m.SpaceOf(key) == f.space && r.m.Snapshot(f.space).Clock().Has(f.dot)
}

// acknowledged holds the news that a majority has an update to what the voters say themselves.
func (w *World) acknowledged(r *replicaHost, key string, f fact) {
	v := r.installed
	if v == nil || f.dot.Seq == 0 {
		return
	}
	voters := fullOf(v, r.role)
	have := 0
	for _, m := range voters {
		if w.procs[uint64(m.UID)].replica(r.role).has(f.space, f.dot) {
			have++
		}
	}
	if have <= len(voters)/2 {
		w.violate("acknowledged by a majority", "%v is told that a majority has %v of %s; %d of the %d voters of view "+
			"%v have it", r.p, f.dot, key, have, len(voters), v.Epoch)
	}
}

// excuse looks for the writes that are lost, when less than a majority of some view is left.
func (j *dataChecker) excuse(w *World, books []*viewBook) {
	broken := false
	for _, b := range books {
		broken = broken || b.left() <= len(b.voters)/2
		for u := range b.voters { // order: any
			broken = broken || j.space == keyspace.Durable && w.procs[u].replica(j.data.role).ruin != there
		}
	}
	if !broken {
		return
	}
	var n Excuses
	j.data.history.lose(j.space == keyspace.Durable, func(f *fact) bool {
		f.lost = j.reason(w, books, f)
		n[f.lost]++
		return f.excused()
	})
	if n[there] = 0; n != (Excuses{}) {
		w.counts.Excused.add(n)
		w.trace.Line(w, "EXCUSED %v writes, %v", n, j.space)
	}
}

// left counts the voters that are there.
func (b *viewBook) left() (n int) {
	for _, f := range b.voters { // order: counts
		if f == there {
			n++
		}
	}
	return n
}

// reason says why an update may be missing, if it may. An update from before its key became durable
// has other events in the durable space, which no checker knows: there the loss of any majority
// excuses it.
func (j *dataChecker) reason(w *World, books []*viewBook, f *fact) fate {
	if f.space != j.space {
		return moved(books)
	}
	why, accounted := there, false
	for _, b := range books {
		with, without, witnesses, worst := j.fates(w, b, f)
		if with > 0 && without <= len(b.voters)/2 {
			return there
		}
		if witnesses > len(b.voters)/2 {
			why, accounted = max(why, worst), true
		}
	}
	if !accounted || why <= left {
		return there
	}
	return why
}

// moved is the weightiest fate in the views of which less than a majority is left.
func moved(books []*viewBook) fate {
	worst := left
	for _, b := range books {
		if b.left() <= len(b.voters)/2 {
			for _, f := range b.voters { // order: the largest
				worst = max(worst, f)
			}
		}
	}
	if worst == left {
		return there
	}
	return worst
}

// fates counts, among the voters of a view, those that are there with an update, those that may
// answer without it, and its witnesses. worst is the weightiest fate of the witnesses.
func (j *dataChecker) fates(w *World, b *viewBook, f *fact) (with, without, witnesses int, worst fate) {
	for u, is := range b.voters { // order: counts
		p := w.procs[u]
		r := p.replica(j.data.role)
		had := r.has(j.space, f.dot)
		ruined := j.space == keyspace.Durable && r.ruin != there && !r.kept.Has(f.dot)
		has := had && is == there && !ruined
		if b.disks {
			has = is == there && p.slot.holds(j.data.role, f.dot)
		}
		switch {
		case has:
			with++
		case is == there && (p.alive || b.disks):
			without++
		}
		if had || has {
			witnesses++
			if worst = max(worst, is); ruined {
				worst = max(worst, r.ruin)
			}
		}
	}
	return with, without, witnesses, worst
}

// holds reports whether the disk of a slot has an event, as far as the process on it says.
func (s *Slot) holds(role string, d crdt.Dot) bool {
	return s.proc != nil && s.proc.replica(role).stored.Has(d)
}

// endOf is the fate of a process that has ended before a view was installed.
func endOf(p *Process) fate {
	if p.left {
		return left
	}
	return crashed
}
