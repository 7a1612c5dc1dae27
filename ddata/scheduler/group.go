package scheduler

import "sync"

// Group are functions that run beside their caller. Its methods are safe for concurrent use.
type Group struct {
	s Scheduler

	mu      sync.Mutex
	running int
	over    chan struct{} // closed when none runs; nil: not asked for
}

// NewGroup makes a Group in which nothing runs.
func NewGroup(s Scheduler) *Group { return &Group{s: s} }

// Go runs fn beside the caller.
func (g *Group) Go(fn func()) {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
	g.s.Go(func() {
		defer g.ended()
		fn()
	})
}

// ended counts a function that has returned, or has ended its goroutine.
func (g *Group) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.over != nil {
		close(g.over)
		g.over = nil
	}
}

// Over is closed when nothing of the group runs: at once, or with the end of the last function. A
// function that begins later is not waited for, unless another runs meanwhile.
func (g *Group) Over() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running == 0 {
		over := make(chan struct{})
		close(over)
		return over
	}
	if g.over == nil {
		g.over = make(chan struct{})
	}
	return g.over
}

// Wait waits until nothing of the group runs.
func (g *Group) Wait() { g.s.Await(g.Over(), nil, nil) }
