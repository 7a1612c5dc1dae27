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
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/replicator/operation"
)

// A local read that needs no step of the machine checks the key as the machine does.
func TestInvalidKeysAreRefusedBesideASnapshot(t *testing.T) {
	n := alone(t, "", nil)
	r := replica(t, n)
	mustAdd(t, n, "names", "x")
	for range 2 { // the first asks for the snapshot, the second reads it
		if _, err := ddata.Get(t.Context(), r, names, ddata.ReadLocal); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Keys(t.Context(), ""); err != nil { // behind the snapshot in the loop's line
			t.Fatal(err)
		}
	}
	for _, key := range []string{"", "\xff"} {
		if _, err := ddata.Get(t.Context(), r, ddata.NewKey[crdt.GCounter](key),
			ddata.ReadLocal); !errors.Is(err, crdt.ErrKey) {
			t.Errorf("get of key %q: %v", key, err)
		}
	}
	if _, err := ddata.Get(t.Context(), r, ddata.NewKey[crdt.GCounter](strings.Repeat("k", 2000)),
		ddata.ReadLocal); !errors.Is(err, crdt.ErrTooLarge) {
		t.Error(err)
	}
}

// A caller that knows only contexts finds the error that it looks for. The text names the member as
// the logs do.
func TestTimeoutsAreDeadlinesAndNameMembers(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	r, gone := replica(t, nodes[0]), nodes[1]
	want := fmt.Sprintf("missing %v@%s;", gone.UID(), gone.Addr())
	_ = gone.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := ddata.Update(ctx, r, names, ddata.WriteAll, add("x"))
	var e *operation.TimeoutError
	if !errors.Is(err, operation.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("no %q in: %v", want, err)
	}
}

// A typed subscription to a prefix tells these apart: the key, an empty key, a key ended by
// DeleteForever, and a key of another type.
func TestTypedWatchTellsEverything(t *testing.T) {
	n := alone(t, "", nil)
	r := replica(t, n)
	for _, key := range []string{"p/gone", "p/ended", "p/stays", "other"} {
		mustAdd(t, n, key, "x")
	}
	ctx := testContext(t)
	if err := ddata.Update(ctx, r, ddata.NewKey[crdt.GCounter]("p/count"), ddata.WriteLocal,
		func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for c, err := range ddata.WatchPrefix[crdt.ORSet[string]](ctx, r, "p/") {
		if ctx.Err() != nil {
			t.Fatal(err, seen)
		}
		if err != nil && !errors.Is(err, crdt.ErrTypeClash) {
			t.Errorf("%+v comes with %v", c, err)
		}
		seen[c.Key] = fmt.Sprintf("%d %t %t %t", c.Value.Len(), c.Deleted, c.Ended, errors.Is(err, crdt.ErrTypeClash))
		if len(seen) < 4 {
			continue
		}
		if seen["p/gone"] == "1 false false false" {
			if err := r.Delete(ctx, "p/gone", ddata.WriteMajority); err != nil {
				t.Fatal(err)
			}
			if err := r.DeleteForever(ctx, "p/ended", ddata.WriteMajority); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(seen["p/gone"], "true") && strings.Contains(seen["p/ended"], "true") {
			break
		}
	}
	want := map[string]string{"p/gone": "0 true false false", "p/ended": "0 true true false",
		"p/stays": "1 false false false",
		"p/count": "0 false false true"}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("%v\nwant %v", seen, want)
	}
}

func TestLargeKeysAreTold(t *testing.T) {
	told := make(chan events.KeyLarge, 10)
	n := alone(t, "", func(c *ddata.Config) {
		c.Replication.LargeKey = 1000
		c.OnEvent = eventstest.On(func(l events.KeyLarge) { told <- l })
	})
	mustAdd(t, n, "small", "x")
	mustAdd(t, n, "large", strings.Repeat("x", 2000))
	if l := <-told; l.Role != replica(t, n).Role() || l.Key != "large" || l.Bytes < 2000 ||
		l.Bytes > 3000 || len(told) > 0 {
		t.Errorf("%+v, and %d more", l, len(told))
	}
}
