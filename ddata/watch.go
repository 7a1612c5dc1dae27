package ddata

import (
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Watcher is told what happens to a node: a struct of optional callbacks. They are called from the node's goroutines, those of one field in
// order; they must be quick, and must not call Watch, its cancel, BeforeLeave, Leave or Close.
type Watcher struct {
	// View gets each view that is installed.
	View func(*membership.View)
	// Reachable gets members that this node stops or begins to hear.
	Reachable func(uid membership.UID, is bool)
	// Lease gets the loss and the return of the lease. It may come late: Node.HoldsLease decides.
	Lease func(held bool)
	// Link gets the transport's links as they go up and down.
	Link func(transport.LinkEvent)
	// End gets the reason, once, when the node ends: it is no member any more.
	End func(error)
}

// Watch registers a watcher. If a view is installed already, its View is called with it before Watch returns. cancel ends it; a callback
// that has begun may still be running when cancel returns.
func (n *Node) Watch(w Watcher) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id := n.nextID
	n.nextID++
	n.watchers[id] = w
	if v := n.view.Load(); v.Epoch > 0 && w.View != nil {
		w.View(v)
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watchers, id)
	}
}

// tell calls fn for each watcher.
func (n *Node) tell(fn func(Watcher)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.watchers {
		fn(w)
	}
}

func (n *Node) linkChanged(e transport.LinkEvent) {
	n.tell(func(w Watcher) {
		if w.Link != nil {
			w.Link(e)
		}
	})
}

func (n *Node) leaseChanged(held bool) {
	n.tell(func(w Watcher) {
		if w.Lease != nil {
			w.Lease(held)
		}
	})
}
