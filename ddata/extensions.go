package ddata

import (
	"maps"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata/host"
)

// extensions are what those of a node keep with it. The zero value lacks unserved only.
type extensions struct {
	attached host.Attached
	unserved *host.Unserved

	mu     sync.Mutex
	checks map[int]func() []string // of Health
	next   int
}

// addCheck has Health ask fn too. cancel takes it back.
func (x *extensions) addCheck(fn func() (reasons []string)) (cancel func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.checks == nil {
		x.checks = map[int]func() []string{}
	}
	id := x.next
	x.next++
	x.checks[id] = fn
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.checks, id)
	}
}

// missing names what the extensions lack to be ready. It asks without the lock.
func (x *extensions) missing() (reasons []string) {
	x.mu.Lock()
	var checks []func() []string
	for _, id := range slices.Sorted(maps.Keys(x.checks)) {
		checks = append(checks, x.checks[id])
	}
	x.mu.Unlock()
	for _, check := range checks {
		reasons = append(reasons, check()...)
	}
	return reasons
}
