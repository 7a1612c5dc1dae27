package ddata_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/ports"
)

var (
	names = ddata.NewKey[crdt.ORSet[string]]("names")
	hits  = ddata.NewKey[crdt.GCounter]("hits")
	kept  = ddata.NewKey[crdt.ORSet[string]]("kept/names")
)

const limit = 20 * time.Second // of one test's waiting; reached only when something is broken

func testContext(t *testing.T) context.Context { return within(t, limit) }

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func freeAddrs(t *testing.T, n int) []string {
	t.Helper()
	addrs, err := ports.Free(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

func config(addr string, seeds []string, expect int) ddata.Config {
	return ddata.Config{
		Name: "test", Bind: addr, Seeds: seeds, BootstrapExpect: expect,
		Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// startAll starts nodes side by side, as founders must be.
func startAll(t *testing.T, configs ...ddata.Config) []*ddata.Node {
	t.Helper()
	ctx := testContext(t)
	nodes := make([]*ddata.Node, len(configs))
	errs := make(chan error, len(configs))
	for i, c := range configs {
		go func() {
			var err error
			nodes[i], err = ddata.Start(ctx, c)
			errs <- err
		}()
	}
	var failed error
	for range configs {
		failed = errors.Join(failed, <-errs)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			if n != nil {
				_ = n.Close()
			}
		}
	})
	if failed != nil {
		t.Fatal(failed)
	}
	for _, n := range nodes {
		if h := n.Health().String(); strings.Contains(h, "is not here yet") {
			t.Errorf("a node started before it had its data: %s", h)
		}
	}
	return nodes
}

// startCluster starts n nodes; dirs may be nil.
func startCluster(t *testing.T, n int, dirs []string) []*ddata.Node {
	t.Helper()
	addrs := freeAddrs(t, n)
	configs := make([]ddata.Config, n)
	for i := range configs {
		configs[i] = config(addrs[i], addrs, n)
		if dirs != nil {
			configs[i].Dir, configs[i].DurableKeys = dirs[i], []string{"kept/*"}
		}
	}
	return startAll(t, configs...)
}

func replica(t *testing.T, n *ddata.Node) *ddata.Replicator {
	t.Helper()
	return ofRole(t, n, "backend")
}

func add(s string) func(*crdt.ORSetTx[string]) error {
	return func(tx *crdt.ORSetTx[string]) error { return tx.Add(s) }
}

// send puts one frame of a node's own on its way, past its machines.
func send(from, to *ddata.Node, channel string, payload []byte) error {
	return from.Host().Channels.Append(transport.NodeID(to.UID()), transport.Control, 0, transport.ChannelOf(channel),
		func(dst []byte) []byte { return append(dst, payload...) }, nil)
}

// until waits for a view that fulfils want.
func until(t *testing.T, n *ddata.Node, what string, want func(*view.View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for v, err := range n.Watch(ctx) {
		if err != nil {
			t.Fatalf("%s: %v; view %v", what, err, n.View())
		}
		if want(v) {
			return
		}
	}
}
