package ddata

import (
	"sync"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/registered"
)

// extensions are what those of a node keep with it. The zero value lacks unserved only.
type extensions struct {
	attached host.Attached
	unserved *host.Unserved

	mu     sync.Mutex
	checks registered.Set[func() []string] // of Health
}

// addCheck has Health ask fn too. cancel takes it back.
func (x *extensions) addCheck(fn func() (reasons []string)) (cancel func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.checks.Add(&x.mu, fn)
}

// missing names what the extensions lack to be ready. It asks without the lock.
func (x *extensions) missing() (reasons []string) {
	x.mu.Lock()
	checks := x.checks.All()
	x.mu.Unlock()
	for _, check := range checks {
		reasons = append(reasons, check()...)
	}
	return reasons
}
