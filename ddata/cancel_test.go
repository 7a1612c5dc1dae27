package ddata_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/replicator/operation"
)

// A cancelled operation waits for nothing: it frees its place among the operations that may wait. A
// write that had happened spreads; one that had not never does.
func TestCancelledOperationsDoNotWait(t *testing.T) {
	addrs := freeAddrs(t, 2)
	configs := []ddata.Config{config(addrs[0], addrs, 2), config(addrs[1], addrs, 2)}
	for i := range configs {
		configs[i].Replication.PendingMax = 1
		configs[i].RequestTimeout = time.Hour
	}
	nodes := startAll(t, configs...)
	r := replica(t, nodes[0])
	if err := ddata.Update(testContext(t), r, names, ddata.WriteMajority, add("first")); err != nil {
		t.Fatal(err)
	}
	_ = nodes[1].Close()
	probe, errProbe := ddata.NewKey[crdt.GCounter]("probe"), errors.New("there was room")
	for _, c := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"Delete", func(ctx context.Context) error { return ddata.Delete(ctx, r, names, ddata.WriteMajority) }},
		{"Update", func(ctx context.Context) error {
			return ddata.Update(ctx, r, names, ddata.WriteMajority, add("x"))
		}},
		{"DeleteForever", func(ctx context.Context) error {
			return ddata.DeleteForever(ctx, r, hits, ddata.WriteMajority)
		}},
		{"Get", func(ctx context.Context) error { _, err := ddata.Get(ctx, r, names, ddata.ReadMajority); return err }},
	} {
		for range 3 { // a place that was not freed would be missed at the second
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- c.do(ctx) }()
			for { // until it waits: then there is room for no other
				err := ddata.Update(t.Context(), r, probe, ddata.WriteLocal,
					func(*crdt.GCounterTx) error { return errProbe })
				if errors.Is(err, operation.ErrOverloaded) {
					break
				}
				select {
				case err := <-result:
					t.Fatalf("%s did not wait: %v", c.name, err)
				default:
				}
			}
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
	}
	set, err := ddata.Get(testContext(t), r, names, ddata.ReadLocal)
	if err != nil || !set.Contains("x") || set.Contains("first") {
		t.Errorf("what was cancelled had happened here: %v %v", set, err)
	}
}
