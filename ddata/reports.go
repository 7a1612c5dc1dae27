package ddata

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/registered"
)

// reports tells the log and Config.OnEvent what happens on a node. It may be called from any
// goroutine.
type reports struct {
	log       *slog.Logger
	listeners []events.Listener // the log, and the user's; fixed
	counts    events.Counts
	panics    atomic.Uint64 // of the user's code, that were survived
	mu        sync.Mutex
	added     registered.Set[events.Listener] // of extensions
}

func newReports(log *slog.Logger, user events.Listener) *reports {
	r := &reports{log: log, listeners: []events.Listener{events.Log(log)}}
	if user != nil {
		r.listeners = append(r.listeners, user)
	}
	return r
}

// emit tells of an event.
func (r *reports) emit(e events.Event) {
	r.counts.Tell(e)
	for _, l := range r.all() {
		r.hear(l, e)
	}
}

// listen has l hear of what happens from now on. cancel ends it.
func (r *reports) listen(l events.Listener) (cancel func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.added.Add(&r.mu, l)
}

func (r *reports) all() []events.Listener {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.added.Len() == 0 {
		return r.listeners
	}
	return append(slices.Clip(r.listeners), r.added.All()...)
}

// hear has one listener hear of an event. It runs on goroutines that the node lives by,
// such as the reader of a connection: a panic is logged, and ends neither the process nor
// the node.
func (r *reports) hear(l events.Listener, e events.Event) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a listener of events panicked", "event", fmt.Sprintf("%T", e), "panic",
				fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	l(e)
}

// panicked counts a panic of the user's code that the node has survived, and tells of the first,
// the second, the fourth and so on: one defect may show with every step of a machine.
func (r *reports) panicked(in string, value any, stack []byte) {
	if k := r.panics.Add(1); k&(k-1) == 0 {
		r.emit(events.UserCodePanicked{In: in, Panic: fmt.Sprint(value), Stack: string(stack), SoFar: k})
	}
}
