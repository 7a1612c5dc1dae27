package ddata

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// lone starts a cluster of one node, whose own vote is a quorum, so that its lease has no end.
func lone(t *testing.T, edit func(*Config)) *Node {
	t.Helper()
	c := Config{
		Name: "test", Bind: "127.0.0.1:0",
		BootstrapExpect: 1, Roles: []string{"backend"}, Preset: Local, Logger: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&c)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n, err := Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// on runs fn on the goroutine of the membership and waits for its end.
func (m *members) on(fn func()) {
	done := make(chan struct{})
	m.loop.Force(memberInput{do: func() { defer close(done); fn() }})
	<-done
}

// A node that ends has no lease, however long its tasks take and whatever its membership does
// meanwhile.
func TestEndedNodeHoldsNoLease(t *testing.T) {
	n := lone(t, nil)
	if !n.HoldsLease() || !n.Lease().Forever() {
		t.Fatalf("the only member holds %v", n.Lease())
	}
	ending, end := make(chan struct{}), make(chan struct{})
	n.OnShutdown(shutdown.ClusterShutdown, "slow", func(context.Context) error { close(ending); <-end; return nil })
	closed := make(chan error, 1)
	go func() { closed <- n.Close() }()
	<-ending
	for range 3 {
		n.members.on(func() { n.members.Step(time.Now(), memberInput{in: membership.Tick{}}) })
		if n.HoldsLease() || n.Lease().Forever() {
			t.Errorf("a node that ends says that it may run singletons: %v", n.Lease())
		}
	}
	close(end)
	if err := <-closed; err != nil || n.HoldsLease() {
		t.Fatalf("closed with %v, holding %v", err, n.Lease())
	}
}

// What needed other nodes does not succeed without the lease: a majority of the view that this node
// knows may have been left behind by the cluster.
func TestQuorumOperationsNeedTheLease(t *testing.T) {
	n := lone(t, nil)
	r, err := n.Replicator("backend")
	if err != nil {
		t.Fatal(err)
	}
	key, ctx := NewKey[crdt.ORSet[string]]("s"), t.Context()
	add := func(s string, level WriteLevel) error {
		return Update(ctx, r, key, level, func(tx *crdt.ORSetTx[string]) error { return tx.Add(s) })
	}
	if err := add("under the lease", WriteMajority); err != nil {
		t.Fatal(err)
	}
	n.members.on(func() { // which publishes no other meanwhile
		n.lease.set(nodelease.Lease{})
		for _, level := range []WriteLevel{WriteMajority, WriteAll} {
			if err := add("without it", level); !errors.Is(err, ErrNoLease) {
				t.Errorf("a write at %v without the lease: %v", level, err)
			}
		}
		for _, level := range []ReadLevel{ReadMajority, ReadAll, ReadLinearizable} {
			if _, err := Get(ctx, r, key, level); !errors.Is(err, ErrNoLease) {
				t.Errorf("a read at %v without the lease: %v", level, err)
			}
		}
		if err := Delete(ctx, r, key, WriteMajority); !errors.Is(err, ErrNoLease) {
			t.Errorf("a deletion without the lease: %v", err)
		}
		if err := add("here", WriteLocal); err != nil {
			t.Errorf("a local write without the lease: %v", err)
		}
		if set, err := Get(ctx, r, key, ReadLocal); err != nil || !set.Contains("here") {
			t.Errorf("a local read without the lease: %v %v", set, err)
		}
	})
}
