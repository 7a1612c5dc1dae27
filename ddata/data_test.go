package ddata_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/replicator/operation"
)

func TestMajorityWriteIsSeenByMajorityRead(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	for i, n := range nodes {
		r := replica(t, n)
		if err := ddata.Update(ctx, r, names, ddata.WriteMajority, add(fmt.Sprint("n", i))); err != nil {
			t.Fatal(err)
		}
		for _, m := range nodes {
			set, err := ddata.Get(ctx, replica(t, m), names, ddata.ReadMajority)
			if err != nil {
				t.Fatal(err)
			}
			if !set.Contains(fmt.Sprint("n", i)) {
				t.Fatalf("node %v does not see what node %v wrote: %v", m.UID(), n.UID(), set)
			}
		}
	}
}

// Two nodes that write at one moment, the one with a look back, the other with a linearizable read
// after its write, never both miss the other.
func TestALookBackMeetsALinearizableRead(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	looks, reads := replica(t, nodes[0]), replica(t, nodes[1])
	for i := range 200 {
		key := ddata.NewKey[crdt.ORSet[string]](fmt.Sprint("met-", i))
		read := make(chan error, 1)
		var saw crdt.ORSet[string]
		go func() {
			err := ddata.Update(ctx, reads, key, ddata.WriteMajority, add("reader"))
			if err == nil {
				saw, err = ddata.Get(ctx, reads, key, ddata.ReadLinearizable)
			}
			read <- err
		}()
		var own, others bool
		err := looks.UpdateThenLook(ctx, key.Name(), crdt.Mutate[crdt.ORSet[string]](add("looker")),
			func(r crdt.Reader) error {
				looked, err := crdt.ViewOf[crdt.ORSet[string]](r)
				own, others = looked.Contains("looker"), looked.Contains("reader")
				return err
			})
		if err = errors.Join(err, <-read); err != nil {
			t.Fatal(err)
		}
		if !own {
			t.Fatal("it looks back, and does not see what it wrote")
		}
		if !others && !saw.Contains("looker") {
			t.Fatalf("try %d: neither sees the other", i)
		}
	}
}

// A look that panics, or returns an error, fails its call alone. The update has happened.
func TestALookThatFails(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx, boom := testContext(t), errors.New("boom")
	for i, look := range []func(crdt.Reader) error{
		func(crdt.Reader) error { return boom },
		func(crdt.Reader) error { panic(boom) },
	} {
		inc := crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
		if err := r.UpdateThenLook(ctx, hits.Name(), inc, look); !errors.Is(err, boom) {
			t.Errorf("look %d: %v, want %v", i, err, boom)
		}
		got, err := ddata.Get(ctx, r, hits, ddata.ReadMajority)
		if err != nil {
			t.Fatal(err)
		}
		if n := got.Value(); n != uint64(i)+1 {
			t.Errorf("look %d: the counter is at %d", i, n)
		}
	}
}

func TestLocalReadSeesOwnWrite(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx := testContext(t)
	for i := range uint64(100) {
		if err := ddata.Update(ctx, r, hits, ddata.WriteLocal,
			func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
			t.Fatal(err)
		}
		got, err := ddata.Get(ctx, r, hits, ddata.ReadLocal)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value() != i+1 {
			t.Fatalf("read %d after %d increments", got.Value(), i+1)
		}
	}
}

func TestWatchYieldsTheLatest(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	ctx := testContext(t)
	const last = 50
	go func() {
		for range last {
			if ddata.Update(ctx, replica(t, nodes[0]), hits, ddata.WriteAll,
				func(c *crdt.GCounterTx) error { return c.Increment(1) }) != nil {
				return
			}
		}
	}()
	seen := uint64(0)
	for c, err := range ddata.Watch(ctx, replica(t, nodes[1]), hits) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Value.Value() < seen {
			t.Fatalf("went back from %d to %d", seen, c.Value.Value())
		}
		if seen = c.Value.Value(); seen == last {
			return
		}
	}
}

func TestDeleteLeavesTheKeyUsable(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	ctx := testContext(t)
	r, other := replica(t, nodes[0]), replica(t, nodes[1])
	for _, step := range []struct {
		do   func() error
		want int
	}{
		{func() error { return ddata.Update(ctx, r, names, ddata.WriteAll, add("a")) }, 1},
		{func() error { return ddata.Delete(ctx, r, names, ddata.WriteAll) }, 0},
		{func() error { return ddata.Update(ctx, r, names, ddata.WriteAll, add("b")) }, 1},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		set, err := ddata.Get(ctx, other, names, ddata.ReadLocal)
		if err != nil || set.Len() != step.want {
			t.Fatalf("%v %v, want %d elements", set, err, step.want)
		}
	}
}

func TestDurableDataSurvivesStoppingEverything(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	ctx := testContext(t)
	nodes := startCluster(t, 3, dirs)
	for i := range 20 {
		if err := ddata.Update(ctx, replica(t, nodes[i%3]), kept, ddata.WriteMajority, add(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := ddata.Update(ctx, replica(t, nodes[0]), names, ddata.WriteMajority, add("gone")); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	nodes = startCluster(t, 3, dirs)
	set, err := ddata.Get(ctx, replica(t, nodes[1]), kept, ddata.ReadMajority)
	if err != nil || set.Len() != 20 {
		t.Fatalf("%v %v, want 20 elements", set, err)
	}
	volatile, err := ddata.Get(ctx, replica(t, nodes[1]), names, ddata.ReadMajority)
	if err != nil || volatile.Len() != 0 {
		t.Fatalf("volatile data came back: %v %v", volatile, err)
	}
}

func TestUnknownRoleAndBadKeys(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	if _, err := n.Replicator("frontend"); !errors.Is(err, ddata.ErrUnknownRole) {
		t.Errorf("got %v", err)
	}
	for _, key := range []string{"", "\xff", strings.Repeat("k", 2000)} {
		k := ddata.NewKey[crdt.GCounter](key)
		err := ddata.Update(t.Context(), replica(t, n), k, ddata.WriteLocal,
			func(c *crdt.GCounterTx) error { return c.Increment(1) })
		if !errors.Is(err, crdt.ErrKey) && !errors.Is(err, crdt.ErrTooLarge) {
			t.Errorf("update of key %.10q: %v", key, err)
		}
		if _, err := ddata.Get(t.Context(), replica(t, n), k, ddata.ReadLocal); !errors.Is(err, crdt.ErrKey) &&
			!errors.Is(err, crdt.ErrTooLarge) {
			t.Errorf("get of key %.10q: %v", key, err)
		}
		for _, err := range ddata.Watch(testContext(t), replica(t, n), k) {
			if !errors.Is(err, crdt.ErrKey) && !errors.Is(err, crdt.ErrTooLarge) {
				t.Errorf("subscription to key %.10q: %v", key, err)
			}
			break
		}
	}
}

func TestTypeClashIsTheCallersError(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	if err := ddata.Update(t.Context(), r, names, ddata.WriteLocal, add("x")); err != nil {
		t.Fatal(err)
	}
	wrong := ddata.NewKey[crdt.GCounter](names.Name())
	err := ddata.Update(t.Context(), r, wrong, ddata.WriteLocal,
		func(c *crdt.GCounterTx) error { return c.Increment(1) })
	if !errors.Is(err, crdt.ErrTypeClash) {
		t.Errorf("update: %v", err)
	}
	if _, err := ddata.Get(t.Context(), r, wrong, ddata.ReadLocal); !errors.Is(err, crdt.ErrTypeClash) {
		t.Errorf("get: %v", err)
	}
}

func TestWriteToMoreReplicasThanThereAre(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	err := ddata.Update(testContext(t), r, names, ddata.WriteTo(3), add("x"))
	if !errors.Is(err, operation.ErrNotEnoughReplicas) {
		t.Fatalf("got %v", err)
	}
	if err := ddata.Update(testContext(t), r, names, ddata.WriteTo(0), add("x")); !errors.Is(err, operation.ErrLevel) {
		t.Fatalf("a write to no replica: %v", err)
	}
}

// A minority can neither acknowledge nor answer for the cluster, but it can read what it has.
func TestMinorityAnswersOnlyLocally(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		ctx := testContext(t)
		r := replica(t, nodes[0])
		if err := ddata.Update(ctx, r, names, ddata.WriteAll, add("x")); err != nil {
			t.Fatal(err)
		}
		lost := make(chan struct{}, 1)
		nodes[0].Host().Lease.OnLease(func(held bool) {
			if !held {
				lost <- struct{}{}
			}
		})
		_ = nodes[1].Close()
		_ = nodes[2].Close()
		select {
		case <-lost:
		case <-time.After(limit):
			t.Fatal("the lease outlived the majority")
		}
		if nodes[0].HoldsLease() {
			t.Error("the node says that it holds a lease")
		}
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		if err := ddata.Update(short, r, names, ddata.WriteMajority, add("y")); !errors.Is(err, operation.ErrTimeout) {
			t.Errorf("majority write: %v", err)
		}
		if _, err := ddata.Get(short, r, names, ddata.ReadMajority); err == nil {
			t.Error("a majority read succeeded")
		}
		if set, err := ddata.Get(ctx, r, names, ddata.ReadLocal); err != nil || !set.Contains("x") {
			t.Errorf("local read: %v %v", set, err)
		}
	})
}

// An update function that calls the Replicator is forbidden; it must cost its caller an error, and
// the node nothing more. An update whose caller goes before its turn has come does not happen, and
// one that is running is waited for.
func TestCancelledUpdateDoesNotRunLater(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx := testContext(t)
	running, goOn, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first <- ddata.Update(ctx, r, names, ddata.WriteLocal, func(tx *crdt.ORSetTx[string]) error {
			close(running)
			<-goOn
			return tx.Add("first")
		})
	}()
	<-running // the replica's goroutine is busy
	gone, cancel := context.WithCancel(ctx)
	second := make(chan error, 1)
	go func() { second <- ddata.Update(gone, r, names, ddata.WriteLocal, add("second")) }()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(ctx, r, names, ddata.WriteLocal, add("third")); err != nil {
		t.Fatal(err)
	}
	set, err := ddata.Get(ctx, r, names, ddata.ReadLocal)
	if err != nil || set.Len() != 2 || set.Contains("second") {
		t.Fatalf("%v %v", set, err)
	}
}

func TestUpdateInsideAnUpdateFails(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		r := replica(t, mem.start(1, nil)[0])
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_ = ddata.Update(ctx, r, names, ddata.WriteLocal, func(*crdt.ORSetTx[string]) error {
			err := ddata.Update(ctx, r, hits, ddata.WriteLocal,
				func(c *crdt.GCounterTx) error { return c.Increment(1) })
			if !errors.Is(err, operation.ErrTimeout) {
				t.Errorf("the inner update: %v", err)
			}
			return err
		})
		if err := ddata.Update(testContext(t), r, names, ddata.WriteLocal, add("x")); err != nil {
			t.Errorf("the replica is held up: %v", err)
		}
	})
}

// A linearizable read sees what was acknowledged at any node, in one read.
func TestLinearizableReadSeesWhatWasAcknowledgedAnywhere(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	for i := range 30 {
		w, r := replica(t, nodes[i%3]), replica(t, nodes[(i+1)%3])
		if err := ddata.Update(ctx, w, names, ddata.WriteMajority, add(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		set, err := ddata.Get(ctx, r, names, ddata.ReadLinearizable)
		if err != nil || set.Len() != i+1 {
			t.Fatalf("%d elements after %d writes (%v)", set.Len(), i+1, err)
		}
	}
}
