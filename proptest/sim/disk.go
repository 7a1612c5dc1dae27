package sim

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/durable"
)

// These are what failing commits answer.
var (
	errDisk = errors.New("simulated disk failure")
	errFull = errors.New("simulated full disk")
)

// disk is the durable memory of a slot: it survives incarnations, and forgets what was not
// committed when one ends. A commit takes a while, and all that waits then is committed together.
type disk struct {
	w       *World
	rng     *rand.Rand
	env     *durable.Memory
	armed   bool
	slowTil int64 // a stall: commits take far longer until then
	fullTil int64 // no commit succeeds until then, nor does the membership's record
	mark    int64 // when the last incarnation may still have done something as a member; 0: never
}

func newDisk(w *World, slot int) *disk {
	return &disk{w: w, rng: w.rs.stream("disk", uint64(slot)), env: durable.NewMemory()}
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

func (d *disk) crash() {
	d.env = d.env.Crash()
	d.armed = false
}
