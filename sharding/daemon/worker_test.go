package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
)

// A worker runs only if a majority knows its revision as the one that counts; told again it runs
// again, after a panic too, but not once it was halted.
func TestWorkerRuns(t *testing.T) {
	mine := Worker{Number: 1, Total: 3, Revision: 2}
	for name, x := range map[string]struct {
		s   State
		err error
		ran int
	}{
		"present":             {s: State{Revision: 2, Count: 3, Completed: true}, ran: 2},
		"revision is over":    {s: State{Revision: 3, Count: 3, Completed: true}},
		"rescale in progress": {s: State{Revision: 2, Count: 3}},
		"another number":      {s: State{Revision: 2, Count: 4, Completed: true}},
		"no majority":         {s: State{Revision: 2, Count: 3, Completed: true}, err: errors.New("no majority")},
	} {
		ran := 0
		e := &entity{w: mine, h: &host{
			figures: &figures{}, log: slog.New(slog.DiscardHandler),
			current: func(context.Context) (State, error) { return x.s, x.err },
			run: func(_ context.Context, w Worker) error {
				ran++
				if w != mine {
					t.Errorf("%s: it is %v", name, w)
				}
				panic("boom")
			},
		}}
		for range 2 {
			e.start(t.Context())
			<-e.done
		}
		e.halted = true
		e.start(t.Context())
		e.stop()
		if ran != x.ran {
			t.Errorf("%s: ran %d times, want %d", name, ran, x.ran)
		}
		if f := e.h.figures; f.starts.Load() != int64(ran) || f.failures.Load() != int64(ran) || f.running.Load() != 0 {
			t.Errorf("%s: of %d runs %d are counted, and %d failures; %d run",
				name, ran, f.starts.Load(), f.failures.Load(), f.running.Load())
		}
	}
	bad := &entity{bad: true}
	bad.start(t.Context())
	bad.stop()
}

// Stopping waits until Run has returned.
func TestStopWaits(t *testing.T) {
	returned := false
	began := make(chan struct{})
	e := &entity{h: &host{
		figures: &figures{},
		current: func(context.Context) (State, error) { return State{Completed: true}, nil },
		run: func(ctx context.Context, _ Worker) error {
			close(began)
			<-ctx.Done()
			returned = true
			return nil
		},
	}}
	e.start(t.Context())
	<-began
	e.start(t.Context()) // it runs already
	e.stop()
	if !returned {
		t.Error("stopped before Run has returned")
	}
}
