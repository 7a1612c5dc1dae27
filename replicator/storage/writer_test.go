package storage

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// world is a writer, the store that it follows, and the rows of its disk.
type world struct {
	t       *testing.T
	w       Writer
	now     time.Time
	seq     uint64
	content *crdt.Clock
	live    map[crdt.Dot]*crdt.Item
	rows    map[crdt.Dot]*crdt.Item
	marks   map[int]*crdt.Clock
	last    Batch // that was written
	parts   int
}

func sumOf(it *crdt.Item) crdt.Digest {
	return crdt.Digest{it.Dot.Seq * 0x9e3779b97f4a7c15, it.Dot.Seq}.Plus(crdt.Digest{uint64(len(it.Payload))})
}

func newWorld(t *testing.T, limits Limits) *world {
	return &world{
		t: t, w: NewWriter(limits, sumOf), now: time.Unix(1000, 0), content: &crdt.Clock{},
		live: map[crdt.Dot]*crdt.Item{}, rows: map[crdt.Dot]*crdt.Item{}, marks: map[int]*crdt.Clock{},
	}
}

// put makes items, and drops some, as one call of the store.
func (x *world) put(n int, drop ...crdt.Dot) (made []crdt.Dot) {
	var put, dropped []*crdt.Item
	for _, d := range drop {
		dropped = append(dropped, x.live[d])
		delete(x.live, d)
	}
	for range n {
		x.seq++
		it := &crdt.Item{Dot: crdt.Dot{Origin: 1, Seq: x.seq}, Key: "k", Path: fmt.Sprint(x.seq)}
		x.content.Add(it.Dot)
		x.live[it.Dot] = it
		put, made = append(put, it), append(made, it.Dot)
	}
	x.w.Fold(put, dropped)
	x.check()
	return made
}

func (x *world) check() {
	x.t.Helper()
	if err := x.w.Check(x.content); err != nil {
		x.t.Fatal(err)
	}
}

func (x *world) advance() (Batch, bool) {
	if !x.w.Ready(x.now) {
		return Batch{}, false
	}
	var sum crdt.Digest
	for _, it := range x.live { // order: sums do not depend on it
		sum = sum.Plus(sumOf(it))
	}
	for {
		if b, ok := x.w.Advance(x.now, State{Clock: x.content.Clone(), Digest: sum, Seq: x.seq}); ok {
			return b, true
		}
	}
}

// write carries a batch out, and holds what then counts against its digest.
func (x *world) write(b Batch) {
	x.t.Helper()
	for _, d := range b.Drop {
		delete(x.rows, d)
	}
	for _, it := range b.Put {
		x.rows[it.Dot] = it
	}
	if b.Mark != nil {
		x.marks[b.MarkNo] = b.Mark
	}
	for no := range b.Unmark {
		delete(x.marks, no+1)
	}
	var sum crdt.Digest
	for d, it := range x.rows { // order: sums do not depend on it
		if b.Counts == AllRows || b.Counts == Covered && b.Clock.Has(d) || b.Counts == Unmarked && !x.marked(d) {
			sum = sum.Plus(sumOf(it))
		}
	}
	if sum != b.Digest {
		x.t.Fatalf("after %v the rows that count add up to %v, the digest is %v", b, sum, b.Digest)
	}
	x.last = b
	x.parts++
}

func (x *world) marked(d crdt.Dot) bool {
	for _, m := range x.marks { // order: any of them
		if m.Has(d) {
			return true
		}
	}
	return false
}

// unite brings back some of what was dropped, as a union does: under dots that the clock has, and
// with another payload, as when two replicas hold different items at one dot.
func (x *world) unite(rng *rand.Rand) {
	var put []*crdt.Item
	for seq := uint64(1); seq <= x.seq; seq++ {
		if d := (crdt.Dot{Origin: 1, Seq: seq}); x.live[d] == nil && rng.IntN(8) == 0 {
			it := &crdt.Item{Dot: d, Key: "k", Path: fmt.Sprint(seq), Payload: strings.Repeat("x", rng.IntN(9))}
			x.live[d] = it
			put = append(put, it)
		}
	}
	x.w.Fold(put, nil)
}

// drain writes until nothing is left.
func (x *world) drain() {
	x.t.Helper()
	for {
		at, due := x.w.Due()
		if !due {
			break
		}
		if x.now.Before(at) {
			x.now = at
		}
		b, ok := x.advance()
		if !ok {
			x.t.Fatal("a batch is due and none comes")
		}
		x.write(b)
		x.w.Written(b.ID)
		x.check()
	}
	if !x.w.Committed().Equal(x.content) || len(x.rows) != len(x.live) || x.last.Counts != AllRows ||
		len(x.marks) > 0 {
		x.t.Fatalf("%d rows of %d items, committed %v of %v", len(x.rows), len(x.live), x.w.Committed(), x.content)
	}
}

func TestWhatComesWhileABatchIsOutGathers(t *testing.T) {
	x := newWorld(t, Limits{RowsMax: 100, BytesMax: 1 << 20})
	a := x.put(1)
	first, ok := x.advance()
	if !ok || len(first.Put) != 1 {
		t.Fatalf("%v %v", first, ok)
	}
	b := x.put(2)
	x.put(0, b[0]) // it was never on disk, and never comes there
	x.put(0, a[0])
	if _, ok := x.advance(); ok {
		t.Fatal("two batches are out")
	}
	x.write(first)
	if !x.w.Written(first.ID) || x.w.Committed().Has(b[0]) {
		t.Fatal("a batch commits what went with it")
	}
	second, ok := x.advance()
	if !ok || len(second.Put) != 1 || second.Put[0].Dot != b[1] || len(second.Drop) != 1 || second.Drop[0] != a[0] {
		t.Fatalf("%v: put %v, dropped %v", second, second.Put, second.Drop)
	}
	x.write(second)
	x.w.Written(second.ID)
	x.drain()
}

func TestAFailedBatchStaysThePrefixOfTheNext(t *testing.T) {
	x := newWorld(t, Limits{RowsMax: 100, BytesMax: 1 << 20, RetryInterval: time.Second})
	a := x.put(3)
	b, _ := x.advance()
	if clock, own := x.w.Failed(x.now, b.ID); own != 3 || !clock.Has(a[2]) {
		t.Fatalf("%d failed, with the clock %v", own, clock)
	}
	x.put(1, a[0])
	if _, ok := x.advance(); ok || x.w.Committed().Has(a[0]) {
		t.Fatal("a disk that has failed is not asked again at once, and nothing is committed")
	}
	x.now = x.now.Add(time.Second)
	b, ok := x.advance()
	if !ok || len(b.Put) != 3 || len(b.Drop) != 0 {
		t.Fatalf("%v %v", b, ok)
	}
	x.write(b)
	x.w.Written(b.ID)
	x.drain()
}

func TestBatchesAreSpacedOut(t *testing.T) {
	x := newWorld(t, Limits{RowsMax: 100, BytesMax: 1 << 20, WriteBehind: time.Second})
	x.put(1)
	b, _ := x.advance()
	x.write(b)
	x.w.Written(b.ID)
	x.put(1)
	if at, due := x.w.Due(); !due || !at.Equal(x.now.Add(time.Second)) {
		t.Fatalf("%v %v", at, due)
	}
	x.drain()
}

func TestALargeBatchGoesInParts(t *testing.T) {
	x := newWorld(t, Limits{RowsMax: 4, BytesMax: 1 << 20})
	old := x.put(2)
	x.drain()
	x.parts = 0
	x.put(10, old...)
	x.drain()
	if x.parts != 3 {
		t.Fatalf("%d parts for 10 puts, 4 rows at most", x.parts)
	}
	x = newWorld(t, Limits{RowsMax: 100, BytesMax: 2 * Cost(&crdt.Item{Key: "k", Path: "1"})})
	x.put(6)
	if x.drain(); x.parts != 3 {
		t.Fatalf("%d parts for 6 puts, 2 of them at most", x.parts)
	}
}

func TestAWriterResumesWhatACrashHasCut(t *testing.T) {
	x := newWorld(t, Limits{RowsMax: 2, BytesMax: 1 << 20})
	x.w.Load(x.content.Clone(), crdt.Digest{}, PartialBatch{Counts: Covered, Drop: []crdt.Dot{{Origin: 1, Seq: 9}}})
	b, ok := x.advance()
	if !ok || len(b.Drop) != 1 || len(b.Put) != 0 {
		t.Fatalf("%v %v", b, ok)
	}
	x.write(b)
	x.w.Written(b.ID)
	if _, due := x.w.Due(); due || x.last.Counts != AllRows {
		t.Fatalf("after %v more is due", x.last)
	}
}

// Whatever is put and dropped, however often the disk fails: what counts on disk adds up after each
// part, and all of it comes there.
func TestRowsAddUpAfterEachPart(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		x := newWorld(t, Limits{RowsMax: 1 + rng.IntN(6), BytesMax: 1 << 20, RetryInterval: time.Second})
		var out Batch
		busy := false
		for range 60 {
			switch rng.IntN(5) {
			case 4:
				x.unite(rng)
			case 0, 1:
				var drop []crdt.Dot
				for seq := uint64(1); seq <= x.seq; seq++ {
					if d := (crdt.Dot{Origin: 1, Seq: seq}); x.live[d] != nil && rng.IntN(8) == 0 {
						drop = append(drop, d)
					}
				}
				x.put(rng.IntN(4), drop...)
			case 2:
				x.now = x.now.Add(time.Second)
				if !busy {
					out, busy = x.advance()
				}
			case 3:
				if busy && rng.IntN(3) == 0 {
					x.w.Failed(x.now, out.ID)
				} else if busy {
					x.write(out)
					x.w.Written(out.ID)
				}
				busy = false
			}
			x.check()
		}
		if busy {
			x.write(out)
			x.w.Written(out.ID)
		}
		x.drain()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
