package sim

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/views"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// A write that a majority has acknowledged may be missing for one reason only: its witnesses are
// gone. That is judged write by write. The witnesses of a write are the processes that ever said
// that they have it; in the durable space, that their disk has it.
//
// A view keeps a write as long as one of the voters that are left has it, and those that are left
// without it are no majority. Whatever quorum answers for the view, the write is in it. A write is
// excused when none of the views that count keeps it, and the fates of its witnesses account for
// that: they were a majority of one of these views, and not all that are gone left as they should,
// with a full member of the role to hand it to. Everything else that is missing is a violation.

// happens notes of an update of a key that it happens here, at this moment.
func (r *replicaHost) happens(f *history.Fact, key string) {
	space, self := r.m.SpaceOf(key), crdt.Origin(r.p.uid)
	f.Happen(space, crdt.Dot{Origin: self, Seq: clockOf(r, space).Base(self) + 1})
}

// noting is an update of a key here that notes when it happens.
func (r *replicaHost) noting(f *history.Fact, key string, mutate func(*crdt.Tx) error) func(*crdt.Tx) error {
	return func(tx *crdt.Tx) error {
		err := mutate(tx)
		if err == nil {
			r.happens(f, key)
		}
		return err
	}
}

// has reports whether a replica has an event, or had it when it ended: in the durable space,
// whether its disk said so.
func (r *replicaHost) has(space keyspace.Space, d crdt.Dot) bool {
	if space == keyspace.Durable {
		return r.stored.Has(d)
	}
	return clockOf(r, space).Has(d)
}

// clockOf is what a replica has applied, until its next step.
func clockOf(r *replicaHost, space keyspace.Space) *crdt.Clock {
	clock, _ := r.m.Content(space)
	return clock
}

// knows reports whether a replica has applied an update of a key. Of an incarnation that is over, clocks have
// what no member ever had, too.
func (r *replicaHost) knows(key string, f history.Fact) bool {
	clock := clockOf(r, f.Space)
	return f.Dot.Seq != 0 && r.m.SpaceOf(key) == f.Space && clock.Has(f.Dot) && clock.Base(f.Dot.Origin) < crdt.SeqMax
}

// acknowledged holds the news that a majority has an update to what the voters say themselves.
func (w *World) acknowledged(r *replicaHost, key string, f history.Fact) {
	v := r.installed
	if v == nil || f.Dot.Seq == 0 {
		return
	}
	voters, have := 0, 0
	for uid := range views.Full(v, r.set.Role) {
		voters++
		if w.procs[uint64(uid)].replica(r.set.Role).has(f.Space, f.Dot) {
			have++
		}
	}
	if have <= voters/2 {
		w.violate("acknowledged by a majority", "%v is told that a majority has %v of %s; %d of the %d voters of view "+
			"%v have it", r.p, f.Dot, key, have, voters, v.Epoch)
	}
}

// excuse looks for the writes that are lost, when less than a majority of some view is left.
func (j *dataChecker) excuse(w *World, books []*viewBook) {
	broken := false
	for _, b := range books {
		broken = broken || b.left() <= len(b.voters)/2
		for u := range b.voters { // order: any
			broken = broken || j.space == keyspace.Durable && w.procs[u].replica(j.data.role).ruin != history.There
		}
	}
	if !broken {
		return
	}
	var n history.Excuses
	j.data.history.Lose(j.space == keyspace.Durable, func(f *history.Fact) bool {
		f.Lose(j.reason(w, books, f))
		n[f.Lost]++
		return f.Excused()
	})
	if n[history.There] = 0; n != (history.Excuses{}) {
		w.counts.Excused.Add(n)
		w.trace.Line(w, "EXCUSED %v writes, %v", n, j.space)
	}
}

// left counts the voters that are there.
func (b *viewBook) left() (n int) {
	for _, f := range b.voters { // order: counts
		if f == history.There {
			n++
		}
	}
	return n
}

// reason says why an update may be missing, if it may. An update from before its key became durable
// has other events in the durable space, which no checker knows: there the loss of any majority
// excuses it.
func (j *dataChecker) reason(w *World, books []*viewBook, f *history.Fact) history.Fate {
	if f.Space != j.space {
		return moved(books)
	}
	why, accounted := history.There, false
	for _, b := range books {
		with, without, witnesses, worst := j.fates(w, b, f)
		if with > 0 && without <= len(b.voters)/2 {
			return history.There
		}
		if witnesses > len(b.voters)/2 {
			why, accounted = max(why, worst), true
		}
	}
	if !accounted || why <= history.Left {
		return history.There
	}
	return why
}

// moved is the weightiest fate in the views of which less than a majority is left.
func moved(books []*viewBook) history.Fate {
	worst := history.Left
	for _, b := range books {
		if b.left() <= len(b.voters)/2 {
			for _, f := range b.voters { // order: the largest
				worst = max(worst, f)
			}
		}
	}
	if worst == history.Left {
		return history.There
	}
	return worst
}

// fates counts, among the voters of a view, those that are there with an update, those that may
// answer without it, and its witnesses. worst is the weightiest fate of the witnesses.
func (j *dataChecker) fates(w *World, b *viewBook, f *history.Fact) (with, without, witnesses int, worst history.Fate) {
	for u, is := range b.voters { // order: counts
		p := w.procs[u]
		r := p.replica(j.data.role)
		had := r.has(j.space, f.Dot)
		ruined := j.space == keyspace.Durable && r.ruin != history.There && !r.kept.Has(f.Dot)
		has := had && is == history.There && !ruined
		if b.disks {
			has = is == history.There && p.slot.holds(j.data.role, f.Dot)
		}
		switch {
		case has:
			with++
		case is == history.There && (p.alive || b.disks):
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
func endOf(p *Process) history.Fate {
	if p.left {
		return history.Left
	}
	return history.Crashed
}
