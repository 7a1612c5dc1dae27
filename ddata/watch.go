package ddata

import (
	"maps"
	"slices"
	"sync"

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
	cancel, ok := n.watchers.add(w)
	if ok {
		n.members.loop.Force(memberInput{do: func() {
			if v := n.view.Load(); v.Epoch > 0 && w.View != nil {
				w.View(v)
			}
		}})
	}
	return cancel
}

// watchers are the registered ones of a node. The zero value has none.
type watchers struct {
	mu    sync.Mutex
	byID  map[int]Watcher
	next  int
	ended error // what they were told of the end; nil before it
}

// add registers a watcher. After the end it does not, has the watcher told, and reports false.
func (ws *watchers) add(w Watcher) (cancel func(), ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ended != nil {
		if w.End != nil {
			go w.End(ws.ended)
		}
		return func() {}, false
	}
	if ws.byID == nil {
		ws.byID = map[int]Watcher{}
	}
	id := ws.next
	ws.next++
	ws.byID[id] = w
	return func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		delete(ws.byID, id)
	}, true
}

// all are those that are registered, in the order of their registration.
func (ws *watchers) all() []Watcher {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.allLocked()
}

func (ws *watchers) allLocked() []Watcher {
	all := make([]Watcher, 0, len(ws.byID))
	for _, id := range slices.Sorted(maps.Keys(ws.byID)) {
		all = append(all, ws.byID[id])
	}
	return all
}

func (ws *watchers) tellView(v *membership.View) {
	for _, w := range ws.all() {
		if w.View != nil {
			w.View(v)
		}
	}
}

func (ws *watchers) tellReachable(uid membership.UID, is bool) {
	for _, w := range ws.all() {
		if w.Reachable != nil {
			w.Reachable(uid, is)
		}
	}
}

func (ws *watchers) tellLease(held bool) {
	for _, w := range ws.all() {
		if w.Lease != nil {
			w.Lease(held)
		}
	}
}

func (ws *watchers) tellLink(e transport.LinkEvent) {
	for _, w := range ws.all() {
		if w.Link != nil {
			w.Link(e)
		}
	}
}

// tellEnd calls the watchers' End side by side and waits for them: they stop what stands on the
// node.
func (ws *watchers) tellEnd(err error) {
	ws.mu.Lock()
	ws.ended = err
	all := ws.allLocked()
	ws.mu.Unlock()
	var wg sync.WaitGroup
	for _, w := range all {
		if w.End != nil {
			wg.Go(func() { w.End(err) })
		}
	}
	wg.Wait()
}

func (n *Node) linkChanged(e transport.LinkEvent) {
	if e.Up {
		n.reports.emit(events.LinkUp{Link: e})
	} else {
		n.reports.emit(events.LinkDown{Link: e})
	}
	n.watchers.tellLink(e)
}
