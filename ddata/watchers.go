package ddata

import (
	"context"
	"iter"
	"sync"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
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
		defer n.watch(host.Watcher{View: installed, End: func(err error) { end <- err }})()
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

// watch registers a watcher. It must be quick, and must not call Leave or Close. If a view is
// installed, its View is called with it, perhaps twice. A watcher that comes after the end hears of
// it too. No callback runs within watch. cancel ends it; a callback that has begun may still be
// running when cancel returns.
func (n *Node) watch(w host.Watcher) (cancel func()) {
	cancel, ended := n.watchers.Add(w)
	if ended != nil {
		if w.End != nil {
			go w.End(ended)
		}
		return cancel
	}
	n.members.loop.Force(memberInput{do: func() {
		if v := n.view.Load(); v.Epoch > 0 && w.View != nil {
			w.View(v)
		}
	}})
	return cancel
}

// tellEnd calls the watchers' End side by side and waits for them.
func tellEnd(w *host.Watchers, reason error) {
	var wg sync.WaitGroup
	for _, end := range w.End(reason) {
		wg.Go(func() { end(reason) })
	}
	wg.Wait()
}
