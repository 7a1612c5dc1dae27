package replicator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Fewer commits, never an early ack: with WriteBehind a replica sends its disk one batch per
// interval, and neither the caller nor a peer hears of a write before the batch that holds it is
// committed.
func TestWriteBehindCommitsLessOftenAndNeverAcksEarly(t *testing.T) {
	const interval = 200 * time.Millisecond
	w := cluster(t, 3, settings.Config{DurableKeys: []string{"d/*"}, WriteBehind: interval})
	a := w.nodes[0]
	first := a.put("d/s", "first", quorum.Majority)
	w.quiet()
	a.want(first, nil) // the disk was at rest: there is nothing to wait for
	before := commits(w)

	began := w.now
	var local, most []uint64
	for i := range 40 {
		local = append(local, a.put("d/s", fmt.Sprint("l", i), quorum.Local))
		most = append(most, a.put("d/s", fmt.Sprint("m", i), quorum.Majority))
		w.quiet()
		if answered(a, local[i], most[i]) > 0 {
			t.Fatalf("write %d was acknowledged after %v, and nothing was committed", i, w.now.Sub(began))
		}
		if i == 20 {
			w.advance(interval / 2)
		}
	}
	if n := commits(w); !slices.Equal(n, before) {
		t.Fatalf("%v batches before, %v within the interval", before, n)
	}
	w.advance(interval)
	for i := range local {
		a.want(local[i], nil)
		a.want(most[i], nil)
	}
	for i, n := range commits(w) {
		if n != before[i]+1 {
			t.Errorf("node %d committed %d batches for 80 writes, want 1", i, n-before[i])
		}
	}
	for range 10 {
		a.put("d/s", fmt.Sprint(w.now), quorum.Local)
		w.advance(interval / 2)
	}
	if n := commits(w)[0] - before[0] - 1; n < 4 || n > 6 {
		t.Errorf("%d batches for 10 writes over 5 intervals", n)
	}
}

// What is put and removed again within the interval is never written.
func TestWriteBehindDoesNotWriteWhatIsGoneAgain(t *testing.T) {
	w := cluster(t, 1, settings.Config{DurableKeys: []string{"d/*"}, WriteBehind: time.Second})
	a := w.nodes[0]
	a.put("d/s", "first", quorum.Local)
	w.quiet()
	for range 10 {
		a.put("d/s", "x", quorum.Local)
		a.take("d/s", "x", quorum.Local)
	}
	a.put("d/s", "y", quorum.Local)
	a.untilBatch()
	if len(a.batches) != 1 || len(a.batches[0].Put) != 1 || len(a.batches[0].Drop) != 0 {
		t.Fatalf("batches %v", a.batches)
	}
}

// A batch that failed is not tried again before RetryInterval, nor before WriteBehind.
func TestWriteBehindAndRetryBothHold(t *testing.T) {
	for _, behind := range []time.Duration{0, 50 * time.Millisecond, time.Second} {
		cfg := settings.Config{DurableKeys: []string{"d/*"}, WriteBehind: behind, RetryInterval: 100 * time.Millisecond}
		w := cluster(t, 1, cfg)
		a := w.nodes[0]
		a.disk.bad = true
		began := w.now
		a.put("d/s", "x", quorum.Local)
		a.persist()
		a.untilBatch()
		if took := w.now.Sub(began); took != max(behind, cfg.RetryInterval) {
			t.Errorf("behind %v: tried again after %v", behind, took)
		}
	}
}

// untilBatch lets time pass until a batch wants to go to the disk.
func (n *node) untilBatch() {
	for len(n.batches) == 0 {
		n.w.now = n.m.Deadline()
		n.step(Tick{})
	}
}

func commits(w *world) (n []uint64) {
	for _, x := range w.nodes {
		n = append(n, x.m.spaces[keyspace.Durable].Disk.LastID())
	}
	return n
}

func answered(n *node, ids ...uint64) (count int) {
	for _, id := range ids {
		if _, ok := n.results[id]; ok {
			count++
		}
	}
	return count
}

// What is dropped while a batch is out is dropped on disk also when that batch fails: an item of
// the failed batch, and one of an earlier batch.
func TestFailedBatchKeepsLaterDrops(t *testing.T) {
	w := cluster(t, 1, settings.Config{DurableKeys: []string{"d/*"}, RetryInterval: 100 * time.Millisecond})
	a := w.nodes[0]
	a.put("d/s", "earlier", quorum.Local)
	w.quiet()
	a.disk.bad = true
	a.put("d/s", "failed", quorum.Local) // goes out at once
	a.take("d/s", "earlier", quorum.Local)
	a.take("d/s", "failed", quorum.Local)
	a.put("d/s", "later", quorum.Local)
	a.persist()
	a.disk.bad = false
	a.untilBatch()
	w.quiet()
	if n := len(a.disk.items); n != 1 {
		t.Errorf("%d rows on disk, want that of the last element", n)
	}
	a.crash()
	w.start(2, a.disk, 1) // fails the test when rows and digest do not belong together
}
