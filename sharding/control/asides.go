package control

import (
	"context"
	"sync"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// asides are the goroutines that work for a region beside its loops. The end of the region awaits
// them.
type asides struct {
	ctx    context.Context // ends with the region
	cancel context.CancelFunc

	mu   sync.Mutex // ctx ends under it
	work *scheduler.Group
}

// NewAsides makes what runs until its end.
func NewAsides(s scheduler.Scheduler) *asides {
	a := &asides{work: scheduler.NewGroup(s)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// run calls fn on a goroutine of its own. It reports false, and calls nothing, after end.
func (a *asides) run(fn func()) (runs bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return false
	}
	a.work.Go(fn)
	return true
}

// end refuses what comes from now on.
func (a *asides) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel()
}

// await waits until nothing runs.
func (a *asides) await() { a.work.Wait() }
