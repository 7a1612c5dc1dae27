package sharding

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
)

// A store of leases that panics costs the calls, as one that fails: coordinator and shard get their
// leases when it answers, a hold that cannot be asked is lost, and each panic is counted.
func TestLeaseStoreThatPanics(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := lockstest.NewRash("")
		store.Panic("Lock", 2)
		store.Panic("Acquire", 2)
		store.Panic("Release", 1)
		typ, _ := leased(store)
		typ.Leases.Coordinator = store
		g, err := StartOn(w.join("backend").ports(), typ)
		if err != nil {
			t.Fatal(err)
		}
		w.install()
		demand := func(when string, panics uint64) {
			t.Helper()
			if n, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); n != 0 || err != nil {
				t.Errorf("%s: %d %v", when, n, err)
			}
			if s := g.Stats(); s.Panics != panics {
				t.Errorf("%s: %d panics are counted, want %d", when, s.Panics, panics)
			}
		}
		demand("after panics of each call", 5)
		name := lease.ShardName("", "Cart", g.plane.Routes.ShardOf("a"))
		other, err := store.Memory.Lock(name, "another")
		if err != nil {
			t.Fatal(err)
		}
		store.Panic("Until", 2)
		store.Panic("Holder", 1)
		store.Memory.Take(name)
		if ok, err := other.Acquire(t.Context(), nil); !ok || err != nil { // the shard pauses before it tries again
			t.Fatal(ok, err)
		}
		time.AfterFunc(20*time.Second, func() { _ = other.Close() })
		_, _ = Ask(within(t, 30*time.Second), g.Ref("a"), total{}) // may find the mailbox of the hold that is lost
		demand("after panics of the hold", 8)
		store.Panic("Close", 1)
		if err := g.Close(within(t, time.Minute)); !errors.Is(err, locks.ErrPanicked) {
			t.Errorf("Close: %v", err)
		}
	})
}
