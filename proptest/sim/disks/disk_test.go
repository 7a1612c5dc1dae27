package disks

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// bench is a world of one disk: what is to happen happens when the test says so.
type bench struct {
	now    int64
	queue  []func()
	healed bool
	ruined []history.Fate
	trace  trace.Trace
}

func (b *bench) Now() int64                      { return b.now }
func (b *bench) Healed() bool                    { return b.healed }
func (b *bench) String() string                  { return "bench" }
func (b *bench) At(_ int64, _ Owner, run func()) { b.queue = append(b.queue, run) }
func (b *bench) Ruined(_ int, why history.Fate)  { b.ruined = append(b.ruined, why) }
func newBench() *bench {
	b := &bench{}
	b.trace = trace.New(nil, &b.now)
	return b
}
func (b *bench) disk(set Settings) *Disk { return New(set, b, seeded(1), seeded(2), &b.trace) }
func seeded(n uint64) *rand.Rand         { return rand.New(rand.NewPCG(n, n)) }
func row(key string) []durable.Row       { return []durable.Row{{Key: []byte(key), Value: []byte("x")}} }

// settle lets everything happen.
func (b *bench) settle() {
	for len(b.queue) > 0 {
		run := b.queue[0]
		b.queue = b.queue[1:]
		run()
	}
}

// write commits one row, and returns what the disk has said of it.
func (b *bench) write(d *Disk, table, key string) (said bool, err error) {
	d.Commit(nil, d.Table(table), row(key), func(e error) { said, err = true, e })
	b.settle()
	return said, err
}

// has counts the rows of a table.
func has(t *testing.T, d *Disk, table string) (n int) {
	t.Helper()
	if err := d.Table(table).Load(func(durable.Row) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDiskForgets ends incarnations before and after a commit.
func TestDiskForgets(t *testing.T) {
	b := newBench()
	d := b.disk(Settings{Tables: []string{"data"}})
	d.Commit(nil, d.Table("data"), row("early"), func(error) { t.Error("a commit was answered after the end") })
	d.Crash()
	b.settle()
	if n := has(t, d, "data"); n != 0 {
		t.Errorf("%d rows were kept that were not committed", n)
	}
	if said, err := b.write(d, "data", "kept"); !said || err != nil {
		t.Fatalf("said %v, %v", said, err)
	}
	d.Crash()
	if n := has(t, d, "data"); n != 1 {
		t.Errorf("%d rows after a commit of one", n)
	}
}

// TestDiskLies cuts the power of a disk that says more than it has, but not of the membership.
func TestDiskLies(t *testing.T) {
	b := newBench()
	d := b.disk(Settings{Tables: []string{"data"}})
	b.write(d, "data", "before")
	d.Lie(int64(time.Second))
	for _, table := range []string{"data", Record} {
		if said, err := b.write(d, table, "during"); !said || err != nil {
			t.Fatalf("%s: said %v, %v", table, said, err)
		}
	}
	d.CutPower()
	d.Crash()
	if n, m := has(t, d, "data"), has(t, d, Record); n != 1 || m != 1 {
		t.Errorf("%d rows of data and %d of the membership, want 1 and 1", n, m)
	}
	if len(b.ruined) != 1 || b.ruined[0] != history.Lied || d.Counts().Lies != 1 {
		t.Errorf("ruined %v, %+v", b.ruined, d.Counts())
	}
}

// TestDiskFails fails commits of one table, of the record, and of all.
func TestDiskFails(t *testing.T) {
	b := newBench()
	d := b.disk(Settings{Tables: []string{"data"}})
	d.FailRecord(int64(time.Second))
	if _, err := b.write(d, Record, "a"); err == nil {
		t.Error("the record was written")
	}
	if _, err := b.write(d, "data", "a"); err != nil {
		t.Errorf("data: %v", err)
	}
	d.Fill(int64(time.Second))
	if _, err := b.write(d, "data", "b"); err == nil {
		t.Error("a full disk took a row")
	}
	d.Heal()
	if _, err := b.write(d, Record, "c"); err != nil {
		t.Errorf("a healed disk: %v", err)
	}
}

// TestWipe empties a disk: it has another directory, and its mark is gone.
func TestWipe(t *testing.T) {
	b := newBench()
	d := b.disk(Settings{Tables: []string{"data"}})
	b.write(d, "data", "a")
	before := d.ID()
	d.Wipe()
	if n := has(t, d, "data"); n != 0 || d.ID() == before || b.ruined[0] != history.Wiped {
		t.Errorf("%d rows, directory %d as before, ruined %v", n, d.ID(), b.ruined)
	}
}
