package disks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/sim/clock"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Record is the table of the membership's record.
const Record = "membership"

// ErrRead is what a load answers while the disk cannot be read.
var ErrRead = errors.New("simulated failure to read")

// These are what failing commits answer.
var (
	errDisk  = errors.New("simulated disk failure")
	errFull  = errors.New("simulated full disk")
	errTable = errors.New("simulated failure of one table")
)

// Owner is a process that uses the disk. Nothing happens to it when it has ended.
type Owner interface{ fmt.Stringer }

// World is where the disk stands.
type World interface {
	Now() int64
	// At has something happen to an owner at a true time.
	At(t int64, owner Owner, run func())
	// Healed reports whether nothing breaks any more.
	Healed() bool
	// Ruined hears that a disk has no more than what stands on it now, although it has said more.
	Ruined(slot int, why history.Fate)
	String() string
}

// Settings are what a disk is like.
type Settings struct {
	Slot   int
	Tables []string // of data, one for each role of the slot
	// A commit takes from Min to Max, and fails with the probability Fail.
	Min, Max time.Duration
	Fail     float64
	// Torn is the probability that an incarnation that ends has committed some of what waited.
	Torn float64
	// Early and StaleMark are planted: a commit is done before it is made, and the mark stays as old
	// as the first.
	Early, StaleMark bool
}

// Counts are the faults that were met.
type Counts struct {
	// Torn batches were committed by a crash; TableFaults and ReadFaults are commits and loads.
	Torn, TableFaults, ReadFaults uint64
	// Lies and Tears are cuts of the power of disks that have lied, or leave a part of a batch.
	Lies, Tears, Wipes uint64
}

// Disk is the durable memory of a slot: it survives incarnations, and forgets what was not
// committed when one ends. A commit takes a while, and all that waits then is committed together.
type Disk struct {
	w       World
	set     Settings
	trace   *trace.Trace
	counts  Counts
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

// New is an empty disk. Delays and failures of commits are drawn from rng, the rarer ones from
// faults.
func New(set Settings, w World, rng, faults *rand.Rand, t *trace.Trace) *Disk {
	d := &Disk{w: w, set: set, trace: t, id: uint64(set.Slot + 1), rng: rng, faults: faults}
	d.mount(durable.NewMemory())
	return d
}

// ID is that of the directory.
func (d *Disk) ID() uint64 { return d.id }

// Counts are the faults that were met so far.
func (d *Disk) Counts() Counts { return d.counts }

// Faults draws what befalls the disk, apart from the delays of its commits.
func (d *Disk) Faults() *rand.Rand { return d.faults }

// Torn reports whether the disk has a part of a batch, and no start has found out yet.
func (d *Disk) Torn() bool { return d.torn }

// Table opens a table for an incarnation.
func (d *Disk) Table(name string) durable.Table {
	t, err := d.env.Table(name)
	if err != nil {
		panic(err)
	}
	return t
}

// Commit queues rows; done happens to the process once they are durable or have failed.
func (d *Disk) Commit(p Owner, t durable.Table, rows []durable.Row, done func(error)) {
	if d.set.Early {
		answer := done
		d.w.At(d.w.Now(), p, func() { answer(nil) })
		done = func(error) {}
	}
	t.Commit(rows, done)
	d.arm(p)
}

func (d *Disk) arm(p Owner) {
	if d.armed {
		return
	}
	d.armed = true
	delay := random.Between(d.rng, int64(d.set.Min), int64(d.set.Max))
	if d.w.Now() < d.slowTil {
		delay *= 50
	}
	env := d.env
	d.w.At(d.w.Now()+delay, p, func() {
		if d.env != env {
			return
		}
		d.armed = false
		if d.w.Now() >= d.liesTil {
			d.kept = nil
		}
		n := env.Pending()
		switch {
		case d.w.Now() < d.fullTil:
			for range n {
				env.FailNext(errFull)
			}
		case !d.w.Healed() && random.Chance(d.rng, d.set.Fail):
			env.FailNext(errDisk)
		}
		env.FlushN(n)
		if env.Pending() > 0 {
			d.arm(p)
		}
	})
}

// Work notes that an incarnation does something as a member. The note outlives a crash, as what a
// killed process has written does.
func (d *Disk) Work() {
	if d.mark == 0 || !d.set.StaleMark {
		d.mark = d.w.Now()
	}
}

// Since is since when nothing has been done, on the clock c of the next incarnation, which reads
// now; zero: never was anything.
func (d *Disk) Since(now time.Time, c *clock.Clock) time.Time {
	if d.reset {
		return now
	}
	if d.mark == 0 {
		return time.Time{}
	}
	return now.Add(-c.Elapsed(d.w.Now() - d.mark))
}

// Ended reports whether the next incarnation finds that the last one has ended.
func (d *Disk) Ended() bool { return !d.reset && d.mark != 0 }

// Crash ends an incarnation. What was not committed is forgotten, or was committed at that moment.
func (d *Disk) Crash() {
	cut := d.noPower
	d.noPower = false
	if cut && d.kept != nil {
		d.counts.Lies++
		d.keepRecord()
		d.mount(d.kept)
		d.w.Ruined(d.set.Slot, history.Lied)
		return
	}
	written, rows := 0, 0
	if random.Chance(d.faults, d.set.Torn) {
		written = d.faults.IntN(d.env.Pending() + 1)
		d.counts.Torn += uint64(written)
	}
	if cut && d.w.Now() < d.tearTil && d.env.Pending() > written {
		rows = 1 + d.faults.IntN(8)
		d.torn = true
		d.counts.Tears++
	}
	d.mount(d.env.CrashWriting(written, rows))
}

// keepRecord has the disk keep the membership's record, of which it does not lie. No rule stands
// against a cluster that is founded anew by one disk that has forgotten its last founding.
func (d *Disk) keepRecord() {
	var rows []durable.Row
	err := d.Table(Record).Load(func(r durable.Row) error {
		rows = append(rows, durable.Row{Key: slices.Clone(r.Key), Value: slices.Clone(r.Value)})
		return nil
	})
	if err != nil {
		panic(err)
	}
	t, err := d.kept.Table(Record)
	if err != nil {
		panic(err)
	}
	t.Commit(rows, func(error) {})
	d.kept.Flush()
}

// CutPower says that the incarnation, which ends now, ends by a cut of power.
func (d *Disk) CutPower() {
	d.noPower = true
	d.reset = d.reset || d.kept != nil || d.w.Now() < d.tearTil // its mark is of the time before
}

// Lie has the disk say for a while that it has what it has not.
func (d *Disk) Lie(til int64) {
	if d.kept == nil {
		d.kept = d.env.Copy()
	}
	d.liesTil = til
}

// Tear has the disk stand still until a cut of power, which leaves a part of a batch.
func (d *Disk) Tear(til int64) { d.tearTil, d.slowTil = til, til }

// Wipe is what an operator does with a directory that is damaged: the node starts from empty.
func (d *Disk) Wipe() {
	d.trace.Note(d.w, "OPERATOR wipes the disk of n%d", d.set.Slot)
	d.counts.Wipes++
	d.id += 1000
	d.mark, d.torn, d.reset = 0, false, true
	d.mount(durable.NewMemory())
	d.w.Ruined(d.set.Slot, history.Wiped)
}

// mount is what an incarnation does with what is on the disk.
func (d *Disk) mount(env *durable.Memory) {
	d.env, d.armed, d.kept = env, false, nil
	env.FailCommits(d.fails)
}

// FailTable makes all commits to one table fail for a while.
func (d *Disk) FailTable(til int64) {
	d.badTil, d.badTable = til, random.Pick(d.faults, Record, d.data(), d.data())
}

// data is the table of one of the roles of the slot.
func (d *Disk) data() string {
	if len(d.set.Tables) == 1 {
		return d.set.Tables[0]
	}
	return random.Pick(d.faults, d.set.Tables...)
}

// fails is the error of a commit to a table, if it has one.
func (d *Disk) fails(table string) error {
	if d.w.Now() < d.badTil && table == d.badTable || d.w.Now() < d.recordTil && table == Record {
		d.counts.TableFaults++
		return errTable
	}
	return nil
}

// Starting has the loads of a start fail as long as the disk cannot be read, each at some row. It
// returns what to call when the start is over.
func (d *Disk) Starting() (done func()) {
	if d.w.Now() >= d.readTil {
		return func() {}
	}
	bad := random.Pick(d.faults, Record, d.data(), d.data())
	at := random.Pick(d.faults, 0, 1, 1+d.faults.IntN(64))
	d.env.FailLoads(func(table string, row int) error {
		if table != bad || row < at {
			return nil
		}
		d.counts.ReadFaults++
		return ErrRead
	})
	return func() { d.env.FailLoads(nil) }
}

// Stall has commits take far longer until a time.
func (d *Disk) Stall(til int64) { d.slowTil = til }

// StallAtLeast has commits take far longer until a time, or until a later one that was said before.
func (d *Disk) StallAtLeast(til int64) { d.slowTil = max(d.slowTil, til) }

// Fill has no commit succeed until a time.
func (d *Disk) Fill(til int64) { d.fullTil = til }

// FailReads has no start read all of it until a time.
func (d *Disk) FailReads(til int64) { d.readTil = til }

// FailRecord has no commit of the membership's record succeed until a time.
func (d *Disk) FailRecord(til int64) { d.recordTil = til }

// Started says that a process has read the disk and taken what it has for whole.
func (d *Disk) Started() { d.torn = false }

// Heal makes the disk work.
func (d *Disk) Heal() {
	d.slowTil, d.fullTil, d.readTil, d.badTil, d.tearTil, d.recordTil = 0, 0, 0, 0, 0, 0
	d.kept = nil
}
