package ddata

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Watcher is told what happens to a node: a struct of optional callbacks. They are called from the
// node's goroutines, those of one field in order; they must be quick, and must not call Leave or
// Close.
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

// Watch registers a watcher. If a view is installed, its View is called with it, perhaps twice. A
// watcher that comes after the end hears of it too. No callback runs within Watch. cancel ends it;
// a callback that has begun may still be running when cancel returns.
func (n *Node) Watch(w Watcher) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended != nil {
		if w.End != nil {
			go w.End(n.ended)
		}
		return func() {}
	}
	id := n.nextID
	n.nextID++
	n.watchers[id] = w
	n.members.loop.Force(memberInput{do: func() {
		if v := n.view.Load(); v.Epoch > 0 && w.View != nil {
			w.View(v)
		}
	}})
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.watchers, id)
	}
}

// tell calls fn for each watcher, without the lock, in the order of their registration.
func (n *Node) tell(fn func(Watcher)) {
	n.mu.Lock()
	ids := slices.Sorted(maps.Keys(n.watchers))
	ws := make([]Watcher, len(ids))
	for i, id := range ids {
		ws[i] = n.watchers[id]
	}
	n.mu.Unlock()
	for _, w := range ws {
		fn(w)
	}
}

// emit tells the log and Config.EventListener of an event.
func (n *Node) emit(e events.Event) {
	n.counts.Tell(e)
	for i := range n.listeners {
		n.hear(&n.listeners[i], e)
	}
}

// hear has one listener hear of an event. Its callbacks run on goroutines that the node lives by,
// such as the reader of a connection: a panic of one is logged, and ends neither the process nor
// the node.
func (n *Node) hear(l *events.Listener, e events.Event) {
	defer func() {
		if p := recover(); p != nil {
			n.log.Error("a callback of Config.EventListener panicked", "event", fmt.Sprintf("%T", e), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	l.Tell(e)
}

func (n *Node) linkChanged(e transport.LinkEvent) {
	if e.Up {
		n.emit(events.LinkUp{Link: e})
	} else {
		n.emit(events.LinkDown{Link: e})
	}
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
