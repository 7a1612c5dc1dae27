package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/coterie-go/coterie/sharding"
)

// Command is what the coordinator tells workers.
type Command interface{ command() }

type (
	// Run: the worker shall run, if it does not.
	Run struct{}
	// Halt: it shall stop, and not start again; the answer comes when it has.
	Halt struct {
		sharding.Returns[Command, bool]
	}
)

func (Run) command()  {}
func (Halt) command() {}

// host is what the workers of this node need.
type host struct {
	run     func(ctx context.Context, w Worker) error
	current func(ctx context.Context) (State, error) // the revision, from a majority
	log     *slog.Logger
	name    string
	figures *figures
}

// entity is a worker's place in sharding. Only the handlers that end it wait for Run.
type entity struct {
	h      *host
	w      Worker
	bad    bool // the id is no worker's
	cancel context.CancelFunc
	done   chan struct{} // of the goroutine; nil: it was never started
	halted bool
}

func (h *host) newEntity(c *sharding.Context[Command]) sharding.Entity[Command] {
	w, ok := workerOf(c.ID())
	return &entity{h: h, w: w, bad: !ok}
}

// Receive implements sharding.Entity.
func (e *entity) Receive(c *sharding.Context[Command], m Command) error {
	switch m.(type) {
	case Run:
		e.start(c)
	case Halt:
		e.halted = true
		e.stop()
		c.Passivate()
		return c.Reply(true)
	}
	return nil
}

// Stop implements sharding.Stopper: the worker moves, or the region ends.
func (e *entity) Stop(*sharding.Context[Command]) error {
	e.stop()
	return nil
}

// start makes the goroutine, unless it runs.
func (e *entity) start(ctx context.Context) {
	if e.bad || e.halted {
		return
	}
	if e.done != nil {
		select {
		case <-e.done:
		default:
			return
		}
	}
	ctx, e.cancel = context.WithCancel(ctx)
	done := make(chan struct{})
	e.done = done
	go func() {
		defer close(done)
		e.work(ctx)
	}()
}

// work runs the worker, if its revision is the one that counts.
func (e *entity) work(ctx context.Context) {
	s, err := e.h.current(ctx)
	if err != nil || s.Revision != e.w.Revision || s.Count != e.w.Total || !s.Completed {
		return // the coordinator tells it again, or it is over
	}
	defer func() {
		if p := recover(); p != nil {
			e.h.figures.failures.Add(1)
			e.h.log.Error("daemon worker panicked", "name", e.h.name, "worker", e.w.Number, "panic", p,
				"stack", string(debug.Stack()))
		}
	}()
	if ctx.Err() != nil {
		return
	}
	e.h.figures.starts.Add(1)
	e.h.figures.running.Add(1)
	defer e.h.figures.running.Add(-1)
	if err := e.h.run(ctx, e.w); err != nil && ctx.Err() == nil {
		e.h.figures.failures.Add(1)
		e.h.log.Error("daemon worker failed", "name", e.h.name, "worker", e.w.Number, "error", fmt.Sprint(err))
	}
}

// stop ends the goroutine and waits for it.
func (e *entity) stop() {
	if e.done == nil {
		return
	}
	e.cancel()
	<-e.done
}
