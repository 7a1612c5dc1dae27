package batch

import (
	"fmt"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
)

// Pending says, for people, what waits for a store: the call, the type of the store, and its last
// failure while it fails. It may be printed on any goroutine.
type Pending struct {
	kind  calls.Kind
	text  string
	store *storeState
}

var _ fmt.Stringer = (*Pending)(nil)

// String implements fmt.Stringer.
func (p *Pending) String() string {
	if err := p.store.failure.Load(); err != nil {
		return fmt.Sprintf("%s, which fails: %v", p.text, *err)
	}
	return p.text
}

// Kind is what the call does.
func (p *Pending) Kind() calls.Kind { return p.kind }

// storeState is what was noticed of one store. The loop writes it.
type storeState struct {
	failure atomic.Pointer[error] // nil: none since it was good
}

// Pending says what a request of that kind waits for.
func (c *Client) Pending(k calls.Kind) *Pending { return &c.pending.of[k] }

// pendings are all that a client has.
type pendings struct {
	of     [calls.Fence]Pending // by kind
	stores [3]storeState        // by number
}

// describe makes them, with the numbers of the ports. What is asked of a port without a store ends at
// once.
func (p *pendings) describe(cfg *Config, ports [3]int) {
	stores := [3]any{cfg.Journal, cfg.Snapshots, cfg.States}
	for k := range calls.Fence {
		p.of[k] = Pending{
			kind:  k,
			text:  fmt.Sprintf("%q of its %v %T", k, k.Port(), stores[k.Port()]),
			store: &p.stores[max(0, ports[k.Port()])],
		}
	}
}

// noticed keeps whether the store of a notice fails.
func (p *pendings) noticed(n calls.Notice) {
	s := &p.stores[n.Call.Store]
	switch n.Kind {
	case calls.Failing:
		s.failure.Store(&n.Err)
	case calls.Hangs:
		err := fmt.Errorf("a call has not returned for %v", n.Took)
		s.failure.Store(&err)
	case calls.Back:
		s.failure.Store(nil)
	}
}
