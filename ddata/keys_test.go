package ddata_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Keys lists what holds something, of both spaces in one order, as it was when it was asked.
func TestKeysListsWhatHoldsSomething(t *testing.T) {
	nodes := startCluster(t, 2, []string{t.TempDir(), t.TempDir()})
	ctx := testContext(t)
	r := replica(t, nodes[0])
	if got := r.ReplicaCount(); got != 2 {
		t.Errorf("%d replicas", got)
	}
	for _, name := range []string{"kept/b", "a", "kept/a", "z", "kept/c", "kf", "m"} {
		if err := ddata.Update(ctx, r, ddata.NewKey[crdt.ORSet[string]](name), ddata.WriteAll, add("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := ddata.Delete(ctx, r, ddata.NewKey[crdt.ORSet[string]]("m"), ddata.WriteAll); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string][]string{
		"": {"a", "kept/a", "kept/b", "kept/c", "kf", "z"}, "k": {"kept/a", "kept/b", "kept/c", "kf"},
		"kept/b": {"kept/b"}, "n": nil,
	} {
		for _, n := range nodes {
			keys, err := replica(t, n).Keys(ctx, prefix)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Collect(keys); !slices.Equal(got, want) {
				t.Errorf("keys that begin with %q: %q, want %q", prefix, got, want)
			}
			for range keys {
				break // a loop may end early, and begin anew
			}
		}
	}
	_ = nodes[0].Close()
	if _, err := r.Keys(ctx, ""); !errors.Is(err, ddata.ErrClosed) {
		t.Errorf("keys of a closed node: %v", err)
	}
}

// The settings of Config.Replication reach the Replicators, and a time-out tells the caller which
// member is missing.
func TestReplicationSettingsAndTimeoutsReachTheCaller(t *testing.T) {
	addrs := freeAddrs(t, 2)
	configs := []ddata.Config{config(addrs[0], addrs, 2), config(addrs[1], addrs, 2)}
	for i := range configs {
		configs[i].Replication.PendingMax = 1
	}
	nodes := startAll(t, configs...)
	gone := nodes[1].UID()
	data, err := nodes[0].Host().UserData(replica(t, nodes[0]).Role())
	if err != nil {
		t.Fatal(err)
	}
	_ = nodes[1].Close()
	first, second := make(chan error, 1), make(chan error, 1)
	one := crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
	data.Update("hits", quorum.Majority, 100*time.Millisecond, one, func(err error) { first <- err })
	data.Update("hits", quorum.Majority, 100*time.Millisecond, one, func(err error) { second <- err })
	if err := <-second; !errors.Is(err, operation.ErrOverloaded) {
		t.Errorf("a second write that waits: %v", err)
	}
	var e *operation.TimeoutError
	if err := <-first; !errors.As(err, &e) || e.Have != 1 || e.Need != 2 || len(e.Missing) != 1 ||
		uint64(e.Missing[0]) != uint64(gone) {
		t.Errorf("a write without its majority: %v, %+v", err, e)
	}
}

func TestReplicationFaultsAreReported(t *testing.T) {
	c := config("127.0.0.1:0", nil, 1)
	c.Replication = settings.Config{Self: 7, FrameMax: 1 << 20, LogMax: -1}
	err := c.Validate()
	for _, want := range []string{"Self, Disk", "FrameMax: is 1048576", "LogMax: is -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// A busy subscriber holds up no writer, and finds the latest value when it comes back.
func TestBusyWatcherFindsTheLatest(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	ctx := testContext(t)
	const last = 2000
	increment := func() {
		if err := ddata.Update(ctx, r, hits, ddata.WriteLocal,
			func(g *crdt.GCounterTx) error { return g.Increment(1) }); err != nil {
			t.Fatal(err)
		}
	}
	increment()
	seen, values := 0, []uint64{}
	for c, err := range ddata.WatchPrefix[crdt.GCounter](ctx, r, "hit") {
		if err != nil {
			t.Fatal(err)
		}
		v := c.Value
		if seen++; seen == 1 { // busy: all the writes happen during this call
			for range last - 1 {
				increment()
			}
		}
		if values = append(values, v.Value()); v.Value() == last {
			break
		}
	}
	if len(values) > 3 {
		t.Errorf("the watcher was told %d values: %v", len(values), values)
	}
}

// Two types at one key at the same time, one per node: each caller, and every reader, is told or
// served, no node ends, and a delete makes the key usable again.
func TestTwoTypesAtOneKeyAtTheSameTime(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	ctx := testContext(t)
	set, sum := ddata.NewKey[crdt.ORSet[string]]("both"), ddata.NewKey[crdt.GCounter]("both")
	errs := make(chan error, 2)
	go func() { errs <- ddata.Update(ctx, replica(t, nodes[0]), set, ddata.WriteAll, add("x")) }()
	go func() {
		errs <- ddata.Update(ctx, replica(t, nodes[1]), sum, ddata.WriteAll,
			func(c *crdt.GCounterTx) error { return c.Increment(1) })
	}()
	failed := 0
	for range 2 {
		if err := <-errs; errors.Is(err, crdt.ErrTypeClash) {
			failed++ // the other one came first
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		_, setErr := ddata.Get(ctx, replica(t, n), set, ddata.ReadAll)
		_, sumErr := ddata.Get(ctx, replica(t, n), sum, ddata.ReadAll)
		if !errors.Is(setErr, crdt.ErrTypeClash) && !errors.Is(sumErr, crdt.ErrTypeClash) || failed == 2 {
			t.Errorf("node %v reads a set (%v) and a counter (%v), %d writes failed", n.UID(), setErr, sumErr, failed)
		}
	}
	if err := ddata.Delete(ctx, replica(t, nodes[0]), set, ddata.WriteAll); err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(ctx, replica(t, nodes[1]), set, ddata.WriteAll, add("again")); err != nil {
		t.Fatal(err)
	}
	got, err := ddata.Get(ctx, replica(t, nodes[0]), set, ddata.ReadLinearizable)
	if err != nil || got.Len() != 1 {
		t.Fatalf("%v %v", got, err)
	}
}
