package ddata_test

import (
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/locks"
)

// term is how long a lease of a termStore holds unless it is prolonged.
const term = 300 * time.Millisecond

// termStore is a store like one beyond a network. A holder has its lease for a term. Each question
// for the rest of the term prolongs it, until that is switched off.
type termStore struct {
	*locks.Memory

	mu     sync.Mutex
	first  time.Time // the end of the first term
	until  time.Time
	stops  bool
	beyond chan struct{} // closed when the first term has been over for one more
}

func (s *termStore) Lock(name, owner string) (locks.Lock, error) {
	l, err := s.Memory.Lock(name, owner)
	return &termLease{l, s}, err
}

type termLease struct {
	locks.Lock
	s *termStore
}

func (l *termLease) Until() time.Time {
	if l.Lock.Until().IsZero() {
		return time.Time{}
	}
	s, now := l.s, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = now.Add(term)
	}
	if !s.stops {
		s.until = now.Add(term)
	}
	select {
	case <-s.beyond:
	default:
		if now.After(s.first.Add(term)) {
			close(s.beyond)
		}
	}
	return s.until
}

// A lease that is prolonged is held beyond its first term; one that is not ends on the node's
// clock, before the store says anything.
func TestLeaseIsHeldAsLongAsItIsProlonged(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		store := &termStore{Memory: locks.NewMemory(), beyond: make(chan struct{})}
		addrs := mem.addrs(1)
		c := mem.leaseConfig(store, addrs[0], addrs, 1)
		w := watch(&c)
		startAll(t, c)
		select {
		case <-store.beyond:
		case <-time.After(limit):
			t.Fatal("no node asks how long the lease is held")
		}
		for _, e := range w.events() {
			if e, ok := e.(events.ArbiterGiven); ok {
				t.Errorf("given away while it was prolonged: %v", e)
			}
		}
		store.mu.Lock()
		store.stops = true
		store.mu.Unlock()
		has(t, w, func(e events.ArbiterGiven) bool { return e.Reason == "it has expired" })
	})
}
