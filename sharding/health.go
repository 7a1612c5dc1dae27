package sharding

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Event is what the control plane of a type notes. It goes to the node's log, and to
// ddata.Config.OnEvent: an alarm, and what becomes one if it goes on, as a warning, others at
// debug.
type Event = control.Event

// Health says which types must be registered with a coordinator before the node is ready
// (ddata.Node.Health).
//
// By default these are all that were started on it, without those that were closed on the node that has
// their coordinator, and could not be started there again. No coordinator can exist for these before
// they are, or that node is replaced, and a roll-out that waited for them would never replace it; the
// event CoordinatorAbsent tells of them.
// With names it is exactly those, whether or not they were started yet.
//
// Once a type was registered it stays so: while a coordinator is replaced known homes are routed
// to, and a node that is taken out of service then would help no caller.
func Health(node *ddata.Node, names ...string) {
	h := &typesOf(node.Host()).health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names, h.named = slices.Clone(names), true
}

// nodeHealth is what sharding tells of one node.
type nodeHealth struct {
	mu    sync.Mutex
	types map[string]*dataplane.Plane // that run
	names []string
	named bool
}

// watch counts a type until the result is called.
func (h *nodeHealth) watch(name string, r *dataplane.Plane) (cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.types[name] = r
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.types[name] == r {
			delete(h.types, name)
		}
	}
}

// missing names the types that are not registered.
func (h *nodeHealth) missing() (reasons []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := h.names
	if !h.named {
		names = slices.Sorted(maps.Keys(h.types))
	}
	for _, name := range names {
		switch r := h.types[name]; {
		case r == nil:
			reasons = append(reasons, fmt.Sprintf("entity type %q is not started on this node", name))
		case r.Standing.IsNew() && (h.named || !r.Standing.CoordinatorAbsent.Load()):
			if why := r.Standing.Uncoordinated(); why != nil { // nil: it is being registered
				reasons = append(reasons,
					fmt.Sprintf("entity type %q is not registered with a coordinator: %v", name, why))
			}
		}
	}
	return reasons
}
