package ddata_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// quiet reads a key until reads of it need no step of the machine any more.
func quiet(t *testing.T, r *ddata.Replicator, key ddata.Key[crdt.GCounter]) {
	t.Helper()
	read := func() {
		if _, err := ddata.Get(t.Context(), r, key, ddata.ReadLocal); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(limit); testing.AllocsPerRun(10, read) > 0; {
		if time.Now().After(end) {
			t.Fatalf("reads of %q do not stop allocating", key.Name())
		}
	}
}

// A read of a value that does not change is a look-up: no allocation, of a key that a pattern makes
// durable either.
func TestLocalReadsOfAQuietKeyAllocateNothing(t *testing.T) {
	r := replica(t, startCluster(t, 1, []string{t.TempDir()})[0])
	for _, name := range []string{"volatile", "kept/durable"} {
		key := ddata.NewKey[crdt.GCounter](name)
		if err := ddata.Update(t.Context(), r, key, ddata.WriteLocal,
			func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
			t.Fatal(err)
		}
		quiet(t, r, key)
	}
}

// Without a step of the machine reads say the same as with one: here it was not needed for the key
// that was read before.
func TestLocalReadsWithoutAStepKeepTheirErrors(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx := testContext(t)
	if err := ddata.Update(ctx, r, hits, ddata.WriteLocal,
		func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
		t.Fatal(err)
	}
	gone := ddata.NewKey[crdt.GCounter]("gone")
	if err := ddata.DeleteForever(ctx, r, gone, ddata.WriteLocal); err != nil {
		t.Fatal(err)
	}
	quiet(t, r, hits)
	for name, want := range map[string]error{
		"": crdt.ErrKey, strings.Repeat("k", crdt.KeyMax+1): crdt.ErrTooLarge,
		gone.Name(): crdt.ErrDeleted, "absent": nil,
	} {
		if v, err := ddata.Get(ctx, r, ddata.NewKey[crdt.GCounter](name), ddata.ReadLocal); !errors.Is(err, want) ||
			v.Value() != 0 {
			t.Errorf("%.10q: %v, %v", name, v, err)
		}
	}
	if _, err := ddata.Get(ctx, r, ddata.NewKey[crdt.ORSet[string]](hits.Name()),
		ddata.ReadLocal); !errors.Is(err, crdt.ErrTypeClash) {
		t.Errorf("a counter read as a set: %v", err)
	}
}

// What a caller waits with is used again: beside its input a call leaves little behind.
func TestCallsAllocateLittle(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	update := func() {
		if err := r.Update(t.Context(), hits.Name(), ddata.WriteLocal,
			func(*crdt.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(2000, update); n > 5 { // 4, and more where the race detector empties pools
		t.Errorf("an update that changes nothing allocates %v times", n)
	}
}
