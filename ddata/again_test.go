package ddata_test

import (
	"context"
	"errors"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// A member's address is used by a node of another cluster when the cluster starts again, as
// orchestrators use addresses again. It is no seed, so its refusal says nothing about this node's
// configuration.
func TestAddressUsedByAnotherClusterEndsNoRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(3)
		a, b := mem.config(addrs[0], nil, 2), mem.config(addrs[1], addrs[:1], 2)
		a.Dir, b.Dir = t.TempDir(), t.TempDir()
		for _, n := range startAll(t, a, b) {
			_ = n.Close()
		}
		other := mem.config(addrs[1], nil, 1)
		other.Name = "other"
		startAll(t, other)
		b.Bind, b.Network = addrs[2], mem.hub.At(addrs[2])
		startAll(t, a, b)
	})
}

// A node that is in the view and not Up yet loses its lease for too long, because the other founder
// is gone. Start does not give up: the node tries again under another uid, and comes up with those
// that are started later.
func TestStartTriesAgainWhenDownedBeforeItWasUp(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(3)
		configs := make([]ddata.Config, 3)
		for i := range configs {
			configs[i] = mem.config(addrs[i], addrs, 2)
			configs[i].Downing, configs[i].MinMembers = downing.StaticQuorum{Size: 2}, 3
		}
		seen := watch(&configs[0])
		ctx, cancel := context.WithCancel(testContext(t))
		defer cancel()
		other := make(chan error, 1)
		go func() {
			_, err := ddata.Start(ctx, configs[1])
			other <- err
		}()
		first := make(chan error, 1)
		go func() {
			n, err := ddata.Start(testContext(t), configs[0])
			if err == nil {
				t.Cleanup(func() { _ = n.Close() })
			}
			first <- err
		}()
		has(t, seen, func(e events.ViewInstalled) bool { return len(e.View.Members) == 2 })
		cancel()
		if err := <-other; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		has(t, seen, func(e events.NodeEnded) bool { return errors.Is(e.Err, ddata.ErrDowned) })
		startAll(t, configs[1], configs[2])
		if err := <-first; err != nil {
			t.Fatal(err)
		}
	})
}
