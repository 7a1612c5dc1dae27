package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
)

// memberTable is the table of the membership's record.
const memberTable = "membership"

// These are what failing commits answer.
var (
	errDisk  = errors.New("simulated disk failure")
	errFull  = errors.New("simulated full disk")
	errTable = errors.New("simulated failure of one table")
)

// errRead is what failing loads answer.
var errRead = errors.New("simulated failure to read")

// disk is the durable memory of a slot: it survives incarnations, and forgets what was not
// committed when one ends. A commit takes a while, and all that waits then is committed together.
type disk struct {
	w       *World
	rng     *rand.Rand
	env     *durable.Memory
	armed   bool
	slowTil int64 // a stall: commits take far longer until then
	fullTil int64 // no commit succeeds until then, nor does the membership's record
	readTil int64 // no start reads all of it until then
	badTil  int64 // no commit to badTable succeeds until then
	// badTable is the one table that badTil is about.
	badTable string
	// faults draws what few worlds have, so that the others keep their story.
	faults *rand.Rand
	mark   int64 // when the last incarnation may still have done something as a member; 0: never
}

func newDisk(w *World, slot int) *disk {
	d := &disk{w: w, rng: w.rs.stream("disk", uint64(slot)), faults: w.rs.stream("disk faults", uint64(slot))}
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
	t.Commit(rows, done)
	d.arm(p)
}

func (d *disk) arm(p *Process) {
	if d.armed {
		return
	}
	d.armed = true
	delay := between(d.rng, int64(d.w.opt.DiskMin), int64(d.w.opt.DiskMax))
	if d.w.now < d.slowTil {
		delay *= 50
	}
	env := d.env
	d.w.at(d.w.now+delay, p, func() {
		if d.env != env {
			return
		}
		d.armed = false
		n := env.Pending()
		switch {
		case d.w.now < d.fullTil:
			for range n {
				env.FailNext(errFull)
			}
		case !d.w.healed && chance(d.rng, d.w.opt.DiskFail):
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
	if d.mark == 0 || !d.w.opt.planted().staleMark {
		d.mark = d.w.now
	}
}

// since is since when nothing has been done, on the clock of the next incarnation; zero: never was
// anything.
func (d *disk) since(p *Process) time.Time {
	if d.mark == 0 {
		return time.Time{}
	}
	return p.time().Add(-time.Duration(float64(d.w.now-d.mark) * p.clock.rate))
}

// crash ends an incarnation. What was not committed is forgotten, or was committed at that moment.
func (d *disk) crash() {
	written := 0
	if chance(d.faults, d.w.opt.Torn) {
		written = d.faults.IntN(d.env.Pending() + 1)
		d.w.counts.Torn += uint64(written)
	}
	d.mount(d.env.CrashWriting(written, 0))
}

// mount is what an incarnation does with what is on the disk.
func (d *disk) mount(env *durable.Memory) {
	d.env, d.armed = env, false
	env.FailCommits(d.fails)
}

// failTable makes all commits to one table fail for a while.
func (d *disk) failTable(til int64) {
	d.badTil, d.badTable = til, pick(d.faults, memberTable, rows.Table(role), rows.Table(role))
}

// fails is the error of a commit to a table, if it has one.
func (d *disk) fails(table string) error {
	if d.w.now < d.badTil && table == d.badTable {
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
	bad := pick(d.faults, memberTable, rows.Table(role), rows.Table(role))
	at := pick(d.faults, 0, 1, 1+d.faults.IntN(64))
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
	d.slowTil, d.fullTil, d.readTil, d.badTil = 0, 0, 0, 0
}
