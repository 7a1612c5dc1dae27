package replicator

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/storage"
)

// inParts is a cluster of two of which the second lacks the first one's puts and removals, no log
// left, with batches of few rows.
func inParts(t *testing.T, same, added, removed int) (w *world, a, b *node) {
	t.Helper()
	w = cluster(t, 2, settings.Config{
		DurableKeys: []string{"d/*"}, LogMax: 1, PushWindow: 512, PushFlight: 1,
		BatchRowsMax: 16, BatchBytesMax: 1 << 10,
	})
	a, b = w.nodes[0], w.nodes[1]
	for i := range same {
		a.put("d/s", fmt.Sprint("same", i), quorum.Local)
		w.quiet()
	}
	w.advance(5 * time.Second)
	w.same()
	w.sever(1, 2)
	a.step(Reachable{2, false})
	for i := range added {
		a.put("d/s", fmt.Sprint("new", i), quorum.Local)
		w.quiet()
	}
	for i := range removed {
		a.take("d/s", fmt.Sprint("same", i), quorum.Local)
		w.quiet()
	}
	w.mendAll()
	a.step(Reachable{2, true})
	return w, a, b
}

// smallParts fails when a batch is larger than it may be.
func smallParts(t *testing.T, w *world) {
	w.after = func(n *node) {
		for _, b := range n.batches {
			bytes := 0
			for _, it := range b.Put {
				bytes += storage.Cost(it)
			}
			if rows := len(b.Put) + len(b.Drop); rows > w.cfg.BatchRowsMax ||
				bytes > w.cfg.WithDefaults().BatchBytesMax ||
				b.Mark != nil && b.Mark.Len() > uint64(w.cfg.BatchRowsMax) {
				t.Fatalf("a batch of %d rows and %d bytes: %v", rows, bytes, b)
			}
		}
	}
}

// A repair that is larger than a batch may be becomes durable in parts. Whichever part the process
// dies after, its disk holds the old state or the new one, whole, it starts from it, and what did
// not count is gone once it has the repair again.
func TestRepairLargerThanABatch(t *testing.T) {
	for _, c := range []struct {
		name                 string
		same, added, removed int
		parts                int // at least
	}{
		{"puts", 20, 200, 0, 10}, {"a few drops", 60, 60, 12, 4}, {"drops", 200, 0, 150, 20},
		{"both", 150, 150, 140, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			olds, news, torn := 0, 0, 0
			for kill := 1; ; kill++ {
				w, a, b := inParts(t, c.same, c.added, c.removed)
				smallParts(t, w)
				before, answered := b.disk.clock.Clone(), 0
				was := b.disk.digest
				for i := 0; answered < kill && i < 1000; i++ {
					w.now = w.now.Add(50 * time.Millisecond)
					for range 200 {
						if len(w.net) > 0 {
							w.deliver(0)
						}
						a.persist()
						if len(b.batches) > 0 && answered < kill {
							b.persist()
							answered++
						}
					}
					a.step(Tick{})
					b.step(Tick{})
				}
				if answered < kill {
					if kill <= c.parts || olds == 0 || news == 0 || torn == 0 {
						t.Fatalf("%d parts: %d crashes left the old state, %d the new one, %d rows that do not count",
							kill-1, olds, news, torn)
					}
					w.advance(5 * time.Second)
					w.same()
					return
				}
				switch {
				case b.disk.clock.Equal(before):
					olds++
					if b.disk.digest != was {
						t.Fatalf("after %d parts another digest with the old clock", kill)
					}
				case b.disk.clock.Equal(a.m.Snapshot(keyspace.Durable).Clock()):
					news++
				default:
					t.Fatalf("after %d parts the clock on disk is %v", kill, b.disk.clock)
				}
				b.crash()
				left := len(b.disk.torn().Drop)
				torn += left
				w.after = func(*node) {}
				next := w.start(3, b.disk, 2) // fails when what counts does not sum to the digest
				w.install(viewOf(2, 1, 3))
				w.advance(10 * time.Second)
				w.same()
				checkRows(t, next)
			}
		})
	}
}

// checkRows fails unless a node's disk holds what the node does, and nothing else.
func checkRows(t *testing.T, n *node) {
	t.Helper()
	snap := n.m.Snapshot(keyspace.Durable)
	if len(n.disk.items) != snap.Len() || n.disk.counts != storage.AllRows || len(n.disk.marks) != 0 ||
		!n.disk.clock.Equal(snap.Clock()) ||
		n.disk.digest != snap.Digest() {
		t.Fatalf("%d rows and %d marks, %v count, of %d items",
			len(n.disk.items), len(n.disk.marks), n.disk.counts, snap.Len())
	}
}

// A crash while what does not count is cleared away, again and again, comes to an end.
func TestCrashWhileClearingAway(t *testing.T) {
	w, a, b := inParts(t, 100, 100, 90)
	for range 40 {
		w.now = w.now.Add(time.Second)
		for i := 0; i < 100 && (len(w.net) > 0 || len(a.batches) > 0); i++ {
			a.persist()
			if len(w.net) > 0 {
				w.deliver(0)
			}
		}
		if len(b.batches) > 0 {
			break
		}
		a.step(Tick{})
		b.step(Tick{})
	}
	for b.disk.counts != storage.Unmarked {
		b.persist()
	}
	w.net = nil
	crashes := 0
	for ; b.disk.counts != storage.AllRows; crashes++ {
		b.crash()
		b = w.start(crdt.Origin(10+crashes), b.disk, 2)
		b.step(Tick{})
		b.persist() // one part, and it dies again
		if crashes > 20 {
			t.Fatalf("%d rows do not count, still", len(b.disk.torn().Drop))
		}
	}
	if crashes < 3 {
		t.Fatalf("%d crashes", crashes)
	}
	checkRows(t, b)
}

// A part that fails is tried again; callers are told, and nothing is acknowledged before the clock
// is on disk. What happens meanwhile goes with the next batch.
func TestPartThatFails(t *testing.T) {
	w := cluster(t, 1, settings.Config{
		DurableKeys: []string{"d/*"}, BatchRowsMax: 4, RetryInterval: 100 * time.Millisecond,
	})
	a := w.nodes[0]
	smallParts(t, w)
	a.disk.bad = true
	var ids []uint64
	for i := range 30 { // they gather while the disk fails
		ids = append(ids, a.put("d/s", fmt.Sprint("x", i), quorum.Local))
		w.advance(30 * time.Millisecond)
	}
	a.disk.bad = false
	a.untilBatch()
	a.persist()
	a.disk.bad = true
	late := a.put("d/s", "late", quorum.Local)
	if a.disk.counts != storage.Covered || len(a.batches) != 1 {
		t.Fatalf("rows %v count, batches %v", a.disk.counts, a.batches)
	}
	a.persist()
	a.untilBatch()
	a.persist()
	for _, id := range append(ids, late) {
		if res, ok := a.results[id]; !ok || res.Err == nil {
			t.Errorf("write %d of %d: %v %v", id, len(ids), ok, res.Err)
		}
	}
	a.disk.bad = false
	last := a.put("d/s", "last", quorum.Local)
	w.advance(time.Second)
	a.want(last, nil)
	checkRows(t, a)
}

// A union puts rows within the clock that is on disk: they count at once, one by one.
func TestUnionLargerThanABatch(t *testing.T) {
	w := newWorld(t, 1, settings.Config{DurableKeys: []string{"d/*"}, BatchRowsMax: 8})
	full := w.start(1, nil, 1)
	full.step(Install{founded(1, 1)})
	for i := range 60 {
		full.put("d/s", fmt.Sprint("x", i), quorum.Local)
		w.quiet()
	}
	half := newRows() // forged: half of the rows, and a digest that fits them
	half.clock = full.disk.clock.Clone()
	for d, it := range full.disk.items {
		if d.Seq%2 == 0 {
			half.items[d] = it
			half.digest = half.digest.Plus(full.m.spaces[keyspace.Durable].Store.Hash(&it))
		}
	}
	whole := newRows()
	whole.clock, whole.digest, whole.items = full.disk.clock.Clone(), full.disk.digest, full.disk.items
	full.crash()
	w.start(2, whole, 2)
	b := w.start(3, half, 3)
	smallParts(t, w)
	had := map[int]bool{}
	small := w.after
	w.after = func(n *node) {
		small(n)
		var sum crdt.Digest
		for _, it := range b.disk.items {
			sum = sum.Plus(full.m.spaces[keyspace.Durable].Store.Hash(&it))
		}
		if had[len(b.disk.items)] = true; sum != b.disk.digest {
			t.Fatalf("%d rows do not sum to their digest", len(b.disk.items))
		}
	}
	w.install(founded(1, 2, 3))
	w.advance(10 * time.Second)
	w.same()
	checkRows(t, b)
	if len(had) < 4 {
		t.Fatalf("it was united in %d parts", len(had)-1)
	}
}
