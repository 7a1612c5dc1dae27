package ddata_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership"
)

// rashStore is a store whose methods panic for one owner, as often as the test has set.
type rashStore struct {
	*locks.Memory
	victim string // how the owner's name ends

	mu   sync.Mutex
	left map[string]int // by method: how many of the next calls panic
}

func (s *rashStore) rash(method string, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = map[string]int{}
	}
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
	l, err := s.Memory.Lock(name, owner)
	if err == nil && strings.HasSuffix(owner, s.victim) {
		l = rashLease{l, s}
	}
	return l, err
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

func (l rashLease) Load(ctx context.Context) ([]byte, error) {
	l.s.call("Load")
	return l.Lock.Load(ctx)
}

func (l rashLease) Save(ctx context.Context, record []byte) error {
	l.s.call("Save")
	return l.Lock.Save(ctx, record)
}

func (l rashLease) Close() error {
	l.s.call("Close")
	return l.Lock.Close()
}

// A store of leases that panics costs the calls, as one that fails: the node that is left goes on
// alone when the store answers, and each panic is told with its stack.
func TestLeasesThatPanic(t *testing.T) {
	addrs := freeAddrs(t, 2)
	store := &rashStore{Memory: locks.NewMemory(), victim: "@" + addrs[1]}
	told := make(chan events.UserCodePanicked, 1000)
	failing := make(chan string, 1000)
	c := leaseConfig(store, addrs[1], addrs, 2)
	c.EventListener.UserCodePanicked = func(e events.UserCodePanicked) { told <- e }
	c.EventListener.ArbiterFailing = func(e events.ArbiterFailing) { failing <- e.Reason }
	meter := eventstest.NewMeter("coterie_")
	c.Meter = meter
	nodes := startAll(t, leaseConfig(store, addrs[0], addrs, 2), c)
	store.rash("Acquire", 2)
	store.rash("Load", 1)
	store.rash("Save", 1)
	mustClose(t, nodes[0])
	until(t, nodes[1], "alone", func(v *membership.View) bool { return len(v.Members) == 1 })
	if e := <-told; !strings.HasPrefix(e.In, "Lease.") || !strings.HasPrefix(e.Panic, "rash ") || e.SoFar != 1 ||
		!strings.Contains(e.Stack, "lease_panic_test.go") {
		t.Errorf("%+v", e)
	}
	if why := <-failing; !strings.Contains(why, "panicked: rash") {
		t.Error(why)
	}
	if n := meter.Values()["user_panics_total"]; n < 1 { // it may have held the lease before
		t.Errorf("%d panics are counted", n)
	}
	store.rash("Until", 1)
	store.rash("Close", 1)
	if err := nodes[1].Leave(testContext(t)); err != nil {
		t.Error(err)
	}
}
