package registered

import (
	"maps"
	"slices"
	"sync"
)

// Set is what is registered. The zero value is empty. Its owner's lock guards it.
type Set[T any] struct {
	byID map[uint64]T
	next uint64
}

// Add registers a value. The caller holds lock. cancel takes it, and ends the registration.
func (s *Set[T]) Add(lock sync.Locker, value T) (cancel func()) {
	if s.byID == nil {
		s.byID = map[uint64]T{}
	}
	id := s.next
	s.next++
	s.byID[id] = value
	return func() {
		lock.Lock()
		defer lock.Unlock()
		delete(s.byID, id)
	}
}

// Len returns how many there are.
func (s *Set[T]) Len() int { return len(s.byID) }

// All returns a new slice of them, in the order of their registration.
func (s *Set[T]) All() []T {
	all := make([]T, 0, len(s.byID))
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		all = append(all, s.byID[id])
	}
	return all
}
