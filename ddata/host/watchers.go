package host

import (
	"sync"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/registered"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Watcher is told what happens to a node: a struct of optional callbacks.
type Watcher struct {
	View      func(*view.View)            // gets each view that is installed
	Reachable func(uid view.UID, is bool) // gets members that this node stops or begins to hear
	// gets the loss and the return of the lease, perhaps late: Lease.Holds decides
	Lease func(held bool)
	Link  func(transport.LinkEvent) // gets the transport's links as they go up and down
	End   func(error)               // gets the reason, once, when the node ends: it is no member any more
}

// Watchers are those of a node. A node has them called from its goroutines, those of one field in
// order. The zero value has none. It may be used from any goroutine.
type Watchers struct {
	mu    sync.Mutex
	all   registered.Set[Watcher]
	ended error // what they were told of the end; nil before it
}

// Add registers a watcher. After the end it does not, and returns what the others were told of it.
func (ws *Watchers) Add(w Watcher) (cancel func(), ended error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ended != nil {
		return func() {}, ws.ended
	}
	return ws.all.Add(&ws.mu, w), nil
}

// current returns those that are registered now.
func (ws *Watchers) current() []Watcher {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.all.All()
}

// TellView tells of a view.
func (ws *Watchers) TellView(v *view.View) {
	for _, w := range ws.current() {
		if w.View != nil {
			w.View(v)
		}
	}
}

// TellReachable tells whether a member can be reached.
func (ws *Watchers) TellReachable(uid view.UID, is bool) {
	for _, w := range ws.current() {
		if w.Reachable != nil {
			w.Reachable(uid, is)
		}
	}
}

// TellLease tells whether the lease is held.
func (ws *Watchers) TellLease(held bool) {
	for _, w := range ws.current() {
		if w.Lease != nil {
			w.Lease(held)
		}
	}
}

// TellLink tells of a link.
func (ws *Watchers) TellLink(e transport.LinkEvent) {
	for _, w := range ws.current() {
		if w.Link != nil {
			w.Link(e)
		}
	}
}

// End ends all registrations from now on. It returns what the node must call, each with the reason,
// and wait for: they stop what stands on the node.
func (ws *Watchers) End(reason error) (ends []func(error)) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.ended = reason
	for _, w := range ws.all.All() {
		if w.End != nil {
			ends = append(ends, w.End)
		}
	}
	return ends
}
