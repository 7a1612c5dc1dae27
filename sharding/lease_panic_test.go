package sharding

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// rashStore is a store of leases whose methods panic as often as the test has set.
type rashStore struct {
	*locks.Memory

	mu   sync.Mutex
	left map[string]int // by method: how many of the next calls panic
}

func (s *rashStore) rash(method string, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left[method] = calls
}

func (s *rashStore) call(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left[method] > 0 {
		s.left[method]--
		panic("rash " + method)
	}
}

func (s *rashStore) Lock(name, owner string) (locks.Lock, error) {
	s.call("Lease")
	l, err := s.Memory.Lock(name, owner)
	return rashLease{l, s}, err
}

type rashLease struct {
	locks.Lock
	s *rashStore
}

func (l rashLease) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	l.s.call("Acquire")
	return l.Lock.Acquire(ctx, lost)
}

func (l rashLease) Until() time.Time {
	l.s.call("Until")
	return l.Lock.Until()
}

func (l rashLease) Release(ctx context.Context) error {
	l.s.call("Release")
	return l.Lock.Release(ctx)
}

func (l rashLease) Close() error {
	l.s.call("Close")
	return l.Lock.Close()
}

func (l rashLease) Holder(ctx context.Context) string {
	l.s.call("Holder")
	return "another"
}

// A store of leases that panics costs the calls, as one that fails: coordinator and shard get their
// leases when it answers, a hold that cannot be asked is lost, and each panic is counted.
func TestLeaseStoreThatPanics(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		store := &rashStore{Memory: locks.NewMemory(), left: map[string]int{"Lease": 2, "Acquire": 2, "Release": 1}}
		typ, _ := leased(store)
		typ.CoordinatorLease = store
		g, err := StartOn(w.join("backend").ports(), typ)
		if err != nil {
			t.Fatal(err)
		}
		w.install()
		demand := func(when string, panics uint64) {
			t.Helper()
			if n, err := Ask(within(t, time.Minute), g, "a", total{}); n != 0 || err != nil {
				t.Errorf("%s: %d %v", when, n, err)
			}
			if s := g.Stats(); s.Panics != panics {
				t.Errorf("%s: %d panics are counted, want %d", when, s.Panics, panics)
			}
		}
		demand("after panics of each call", 5)
		name := shardLeaseName("", "Cart", g.core.routes.shardOf("a"))
		other, err := store.Memory.Lock(name, "another")
		if err != nil {
			t.Fatal(err)
		}
		store.rash("Until", 2)
		store.rash("Holder", 1)
		store.Memory.Take(name)
		if ok, err := other.Acquire(t.Context(), nil); !ok || err != nil { // the shard pauses before it tries again
			t.Fatal(ok, err)
		}
		time.AfterFunc(20*time.Second, func() { _ = other.Close() })
		_, _ = Ask(within(t, 30*time.Second), g, "a", total{}) // may find the mailbox of the hold that is lost
		demand("after panics of the hold", 8)
		store.rash("Close", 1)
		if err := g.Close(within(t, time.Minute)); !errors.Is(err, locks.ErrPanicked) {
			t.Errorf("Close: %v", err)
		}
	})
}
