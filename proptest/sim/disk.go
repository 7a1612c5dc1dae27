package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// memberTable is the table of the membership's record.
const memberTable = "membership"

// These are what failing commits and loads answer.
var (
	errDisk  = errors.New("simulated disk failure")
	errFull  = errors.New("simulated full disk")
	errTable = errors.New("simulated failure of one table")
	errRead  = errors.New("simulated failure to read")
)

// disk is the durable memory of a slot: it survives incarnations, and forgets what was not
// committed when one ends. A commit takes a while, and all that waits then is committed together.
type disk struct {
	w       *World
	slot    int
	id      uint64 // of the directory, in the views; one that was made anew has another
	rng     *rand.Rand
	env     *durable.Memory
	armed   bool
	slowTil int64 // a stall: commits take far longer until then
	fullTil int64 // no commit succeeds until then, nor does the membership's record
	readTil int64 // no start reads all of it until then
	badTil  int64 // no commit to badTable succeeds until then
	// recordTil is until when no commit of the membership's record succeeds, and that of all others
	// does.
	recordTil int64
	// badTable is the one table that badTil is about.
	badTable string
	// What the disk has when its power is cut, although it has said more; nil: all that it said.
	kept    *durable.Memory
	liesTil int64 // and until when it goes on saying so
	tearTil int64 // a cut of power leaves a part of a batch until then
	torn    bool  // it has, and no start has found out yet
	noPower bool  // the incarnation ends because its power is cut
	reset   bool  // the clock of the last mark does not go on: since is the next start
	// faults draws what few worlds have, so that the others keep their story.
	faults *rand.Rand
	mark   int64 // when the last incarnation may still have done something as a member; 0: never
}

func newDisk(w *World, slot int) *disk {
	d := &disk{
		w: w, slot: slot, id: uint64(slot + 1),
		rng: w.rs.Stream("disk", uint64(slot)), faults: w.rs.Stream("disk faults", uint64(slot)),
	}
	d.mount(durable.NewMemory())
	return d
}

// table opens a table for an incarnation.
func (d *disk) table(name string) durable.Table {
	t, err := d.env.Table(name)
	if err != nil {
		panic(err)
	}
	return t
}

// commit queues rows; done happens to the process once they are durable or have failed.
func (d *disk) commit(p *Process, t durable.Table, rows []durable.Row, done func(error)) {
	if d.w.planted.early {
		answer := done
		d.w.after(0, p, func() { answer(nil) })
		done = func(error) {}
	}
	t.Commit(rows, done)
	d.arm(p)
}

func (d *disk) arm(p *Process) {
	if d.armed {
		return
	}
	d.armed = true
	delay := random.Between(d.rng, int64(d.w.opt.DiskMin), int64(d.w.opt.DiskMax))
	if d.w.now < d.slowTil {
		delay *= 50
	}
	env := d.env
	d.w.at(d.w.now+delay, p, func() {
		if d.env != env {
			return
		}
		d.armed = false
		if d.w.now >= d.liesTil {
			d.kept = nil
		}
		n := env.Pending()
		switch {
		case d.w.now < d.fullTil:
			for range n {
				env.FailNext(errFull)
			}
		case !d.w.healed && random.Chance(d.rng, d.w.opt.DiskFail):
			env.FailNext(errDisk)
		}
		env.FlushN(n)
		if env.Pending() > 0 {
			d.arm(p)
		}
	})
}

// work notes that an incarnation does something as a member. The note outlives a crash, as what a
// killed process has written does.
func (d *disk) work() {
	if d.mark == 0 || !d.w.planted.staleMark {
		d.mark = d.w.now
	}
}

// since is since when nothing has been done, on the clock of the next incarnation; zero: never was
// anything.
func (d *disk) since(p *Process) time.Time {
	if d.reset {
		return p.Time()
	}
	if d.mark == 0 {
		return time.Time{}
	}
	return p.Time().Add(-p.clock.Elapsed(d.w.now - d.mark))
}

// crash ends an incarnation. What was not committed is forgotten, or was committed at that moment.
func (d *disk) crash() {
	cut := d.noPower
	d.noPower = false
	if cut && d.kept != nil {
		d.w.counts.Lies++
		d.keepRecord()
		d.mount(d.kept)
		d.lost(history.Lied)
		return
	}
	written, rows := 0, 0
	if random.Chance(d.faults, d.w.opt.Torn) {
		written = d.faults.IntN(d.env.Pending() + 1)
		d.w.counts.Torn += uint64(written)
	}
	if cut && d.w.now < d.tearTil && d.env.Pending() > written {
		rows = 1 + d.faults.IntN(8)
		d.torn = true
		d.w.counts.Tears++
	}
	d.mount(d.env.CrashWriting(written, rows))
}

// keepRecord has the disk keep the membership's record, of which it does not lie. No rule stands
// against a cluster that is founded anew by one disk that has forgotten its last founding.
func (d *disk) keepRecord() {
	var rows []durable.Row
	err := d.table(memberTable).Load(func(r durable.Row) error {
		rows = append(rows, durable.Row{Key: slices.Clone(r.Key), Value: slices.Clone(r.Value)})
		return nil
	})
	if err != nil {
		panic(err)
	}
	t, err := d.kept.Table(memberTable)
	if err != nil {
		panic(err)
	}
	t.Commit(rows, func(error) {})
	d.kept.Flush()
}

// cutPower says that the incarnation, which ends now, ends by a cut of power.
func (d *disk) cutPower() {
	d.noPower = true
	d.reset = d.reset || d.kept != nil || d.w.now < d.tearTil // its mark is of the time before
}

// lie has the disk say for a while that it has what it has not.
func (d *disk) lie(til int64) {
	if d.kept == nil {
		d.kept = d.env.Copy()
	}
	d.liesTil = til
}

// tear has the disk stand still until a cut of power, which leaves a part of a batch.
func (d *disk) tear(til int64) { d.tearTil, d.slowTil = til, til }

// wipe is what an operator does with a directory that is damaged: the node starts from empty.
func (d *disk) wipe() {
	d.w.trace.Line(d.w, "OPERATOR wipes the disk of n%d", d.slot)
	d.w.counts.Wipes++
	d.id += 1000
	d.mark, d.torn, d.reset = 0, false, true
	d.mount(durable.NewMemory())
	d.lost(history.Wiped)
}

// lost notes what has become of what the disk said that it has.
func (d *disk) lost(why history.Fate) {
	for _, s := range d.w.datasets {
		loaded, err := rows.Load(d.table(rows.Table(s.role)))
		if err != nil {
			panic(err)
		}
		kept := loaded.Clock
		if kept == nil {
			kept = &crdt.Clock{}
		}
		for _, p := range d.w.procs { // order: each by itself
			if r := p.replica(s.role); r != nil && p.slot.index == d.slot {
				r.ruin, r.kept = why, kept
			}
		}
		s.history.Ruined(d.slot, kept)
	}
}

// mount is what an incarnation does with what is on the disk.
func (d *disk) mount(env *durable.Memory) {
	d.env, d.armed, d.kept = env, false, nil
	env.FailCommits(d.fails)
}

// failTable makes all commits to one table fail for a while.
func (d *disk) failTable(til int64) {
	d.badTil, d.badTable = til, random.Pick(d.faults, memberTable, d.data(), d.data())
}

// data is the table of one of the roles of the slot.
func (d *disk) data() string {
	roles := d.w.slots[d.slot].roles
	if len(roles) == 1 {
		return rows.Table(roles[0])
	}
	return rows.Table(random.Pick(d.faults, roles...))
}

// fails is the error of a commit to a table, if it has one.
func (d *disk) fails(table string) error {
	if d.w.now < d.badTil && table == d.badTable || d.w.now < d.recordTil && table == memberTable {
		d.w.counts.TableFaults++
		return errTable
	}
	return nil
}

// starting has the loads of a start fail as long as the disk cannot be read, each at some row. It
// returns what to call when the start is over.
func (d *disk) starting() (done func()) {
	if d.w.now >= d.readTil {
		return func() {}
	}
	bad := random.Pick(d.faults, memberTable, d.data(), d.data())
	at := random.Pick(d.faults, 0, 1, 1+d.faults.IntN(64))
	d.env.FailLoads(func(table string, row int) error {
		if table != bad || row < at {
			return nil
		}
		d.w.counts.ReadFaults++
		return errRead
	})
	return func() { d.env.FailLoads(nil) }
}

// heal makes the disk work.
func (d *disk) heal() {
	d.slowTil, d.fullTil, d.readTil, d.badTil, d.tearTil, d.recordTil = 0, 0, 0, 0, 0, 0
	d.kept = nil
}
