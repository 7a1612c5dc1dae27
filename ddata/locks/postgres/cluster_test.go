package postgres_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
	"github.com/coterie-go/coterie/proptest/ports"
)

const nodes = 3

// startCluster starts nodes that LeaseMajority decides for, each with a store of its own as
// processes have it.
func startCluster(ctx context.Context, t *testing.T, wires *faulty.Wires, stores []locks.Store) []*ddata.Node {
	t.Helper()
	addrs, err := ports.Free(nodes)
	if err != nil {
		t.Fatal(err)
	}
	all, errs := make([]*ddata.Node, nodes), make(chan error, nodes)
	for i, addr := range addrs {
		go func() {
			var err error
			all[i], err = ddata.Start(ctx, ddata.Config{
				Name: "test", Bind: addr, Seeds: addrs, BootstrapExpect: nodes, Roles: []string{"backend"},
				Preset: ddata.Local, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
				Network: wires.At(addr, transport.TCP()), Downing: downing.LeaseMajority{}, Leases: stores[i],
			})
			errs <- err
		}()
	}
	var failed error
	for range addrs {
		failed = errors.Join(failed, <-errs)
	}
	t.Cleanup(func() {
		for _, n := range all {
			if n != nil {
				_ = n.Close()
			}
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	return all
}

// No node reaches another one, and each reaches the server: one of them goes on, alone, and takes
// writes. The server names it as the holder.
func TestOneOfThreeNodesGoesOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dsn, schema := suite.Server(t).DSN(), newSchema()
	stores := make([]locks.Store, nodes)
	for i := range stores {
		stores[i] = open(t, dsn, schema)
	}
	wires := faulty.New(1)
	t.Cleanup(wires.Close)
	all := startCluster(ctx, t, wires, stores)
	eventually(t, "all nodes are members, and hold their leases", func() bool {
		for _, n := range all {
			if len(n.View().Voters()) != nodes || !n.HoldsLease() {
				return false
			}
		}
		return true
	})
	for i, a := range all {
		for _, b := range all[:i] {
			wires.CutBoth(a.Addr(), b.Addr())
		}
	}
	var last *ddata.Node
	eventually(t, "one node goes on alone", func() bool {
		for _, n := range all {
			if len(n.Members()) == 1 && n.HoldsLease() {
				last = n
			}
		}
		return last != nil
	})
	for _, n := range all {
		if n != last && (n.HoldsLease() || len(n.Members()) == 1) {
			t.Error("another node goes on too:", n.View())
		}
	}
	r, err := last.Replicator("backend")
	if err != nil {
		t.Fatal(err)
	}
	names := ddata.NewKey[crdt.ORSet[string]]("names")
	add := func(tx *crdt.ORSetTx[string]) error { return tx.Add("x") }
	if err := ddata.Update(ctx, r, names, ddata.WriteAll, add); err != nil {
		t.Error("nothing can be written:", err)
	}
	l := door(t, stores[0], "members-test", "test")
	if ok, err := l.Acquire(ctx, nil); ok || err != nil {
		t.Error("the lease of the members:", ok, err)
	}
	t.Log("the holder is", l.(locks.Holder).Holder(ctx))
}
