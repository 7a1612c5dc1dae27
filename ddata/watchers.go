package ddata

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Watch yields the installed view, if there is one, and then each view that is installed, until ctx
// ends, the node ends (the error says why), or the loop breaks. A loop that is slower than the views
// sees the newest one and misses those between.
func (n *Node) Watch(ctx context.Context) iter.Seq2[*view.View, error] {
	return func(yield func(*view.View, error) bool) {
		wake, end := make(chan struct{}, 1), make(chan error, 1)
		installed := func(*view.View) {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
		defer n.watch(watcher{view: installed, end: func(err error) { end <- err }})()
		for told := (*view.View)(nil); ; {
			select {
			case <-wake:
				if v := n.View(); v != told {
					told = v
					if !yield(v, nil) {
						return
					}
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			case err := <-end:
				yield(nil, err)
				return
			}
		}
	}
}

// watcher is told what happens to a node: a struct of optional callbacks. They are called from the
// node's goroutines, those of one field in order; they must be quick, and must not call Leave or
// Close.
type watcher struct {
	view      func(*view.View)            // gets each view that is installed
	reachable func(uid view.UID, is bool) // gets members that this node stops or begins to hear
	// gets the loss and the return of the lease, perhaps late: Node.HoldsLease decides
	lease func(held bool)
	link  func(transport.LinkEvent) // gets the transport's links as they go up and down
	end   func(error)               // gets the reason, once, when the node ends: it is no member any more
}

// watch registers a watcher. If a view is installed, its view is called with it, perhaps twice. A
// watcher that comes after the end hears of it too. No callback runs within watch. cancel ends it;
// a callback that has begun may still be running when cancel returns.
func (n *Node) watch(w watcher) (cancel func()) {
	cancel, ok := n.watchers.add(w)
	if ok {
		n.members.loop.Force(memberInput{do: func() {
			if v := n.view.Load(); v.Epoch > 0 && w.view != nil {
				w.view(v)
			}
		}})
	}
	return cancel
}

// watchers are the registered ones of a node. The zero value has none.
type watchers struct {
	mu    sync.Mutex
	byID  map[int]watcher
	next  int
	ended error // what they were told of the end; nil before it
}

// add registers a watcher. After the end it does not, has the watcher told, and reports false.
func (ws *watchers) add(w watcher) (cancel func(), ok bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ended != nil {
		if w.end != nil {
			go w.end(ws.ended)
		}
		return func() {}, false
	}
	if ws.byID == nil {
		ws.byID = map[int]watcher{}
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
func (ws *watchers) all() []watcher {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.allLocked()
}

func (ws *watchers) allLocked() []watcher {
	all := make([]watcher, 0, len(ws.byID))
	for _, id := range slices.Sorted(maps.Keys(ws.byID)) {
		all = append(all, ws.byID[id])
	}
	return all
}

func (ws *watchers) tellView(v *view.View) {
	for _, w := range ws.all() {
		if w.view != nil {
			w.view(v)
		}
	}
}

func (ws *watchers) tellReachable(uid view.UID, is bool) {
	for _, w := range ws.all() {
		if w.reachable != nil {
			w.reachable(uid, is)
		}
	}
}

func (ws *watchers) tellLease(held bool) {
	for _, w := range ws.all() {
		if w.lease != nil {
			w.lease(held)
		}
	}
}

func (ws *watchers) tellLink(e transport.LinkEvent) {
	for _, w := range ws.all() {
		if w.link != nil {
			w.link(e)
		}
	}
}

// tellEnd calls the watchers' end side by side and waits for them: they stop what stands on the
// node.
func (ws *watchers) tellEnd(err error) {
	ws.mu.Lock()
	ws.ended = err
	all := ws.allLocked()
	ws.mu.Unlock()
	var wg sync.WaitGroup
	for _, w := range all {
		if w.end != nil {
			wg.Go(func() { w.end(err) })
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
