package kubernetes_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/ports"
)

// Three nodes with a store in Kubernetes: when two end without a word, the third one goes on alone. It holds
// the lease then.
func TestLastOfThreeNodesGoesOn(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	hosts, err := ports.Free(3)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var nodes [3]*ddata.Node
	started := make(chan error, len(nodes))
	for i := range nodes {
		store := open(t, "p", 2, server.Client())
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, ddata.Config{
				Name: "test", Bind: hosts[i], Seeds: hosts, BootstrapExpect: len(hosts), Preset: ddata.Local,
				Downing: downing.LeaseMajority{}, Leases: store, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			})
			started <- err
		}()
	}
	for range nodes {
		err = errors.Join(err, <-started)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			if n != nil {
				_ = n.Close()
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes[:2] {
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	last := nodes[2]
	eventually(t, "the last node goes on alone", func() bool { return len(last.Members()) == 1 && last.HoldsLease() })
	l, err := open(t, "p", 2, server.Client()).Lock("members-test", "test")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := l.Acquire(ctx, nil); ok || err != nil {
		t.Errorf("another gets the lease: %t, %v; it is held by %q", ok, err, l.(locks.Holder).Holder(ctx))
	}
	if err := errors.Join(last.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}
