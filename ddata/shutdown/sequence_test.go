package shutdown_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// diary notes what happens, and when.
type diary struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.began))+fmt.Sprintf(format, args...))
}

func every() (all []shutdown.Phase) {
	for p := range shutdown.Phases {
		all = append(all, p)
	}
	return all
}

// Phases follow each other in order, each once, their tasks side by side; a task that hangs is
// named, and holds up the rest for its phase's time only.
func TestPhases(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &diary{began: time.Now()}
		hang := make(chan struct{})
		s := shutdown.New(scheduler.Goroutines{}, map[shutdown.Phase]time.Duration{
			shutdown.ServiceStop: time.Second,
		}, func(e shutdown.Ended) {
			d.note("ended %v %v %v", e.Phase, e.Unfinished, e.Err != nil)
		})
		s.Add(shutdown.BeforeTerminate, "last", func(context.Context) error { d.note("last"); return nil })
		s.Add(shutdown.ServiceUnbind, "failing", func(context.Context) error {
			d.note("failing")
			return errors.New("no port")
		})
		s.Add(shutdown.ServiceUnbind, "slow", func(ctx context.Context) error {
			<-time.After(3 * time.Second)
			d.note("slow")
			return nil
		})
		s.Add(shutdown.ServiceStop, "deaf", func(context.Context) error { <-hang; return nil })
		s.Add(shutdown.ServiceStop, "obedient", func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		s.Add(shutdown.ServiceStop, "taken back", func(context.Context) error { d.note("taken back"); return nil })()
		err := s.Run(t.Context(), every()...)
		for _, want := range []string{
			"service-unbind", "failing: no port", "service-stop", "deaf after 1.1s",
			"obedient: context deadline exceeded",
		} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %v", want, err)
			}
		}
		if !errors.Is(err, shutdown.ErrUnfinished) {
			t.Error(err)
		}
		want := []string{
			"0s failing", "3s slow", "3s ended service-unbind [] true", "4.1s ended service-stop [deaf] true",
			"4.1s last", "4.1s ended before-terminate [] false",
		}
		if !slices.Equal(d.lines, want) {
			t.Errorf("%q", d.lines)
		}
		s.Add(shutdown.BeforeTerminate, "too late", func(context.Context) error { d.note("too late"); return nil })
		if err := s.Run(t.Context(), every()...); err != nil || len(d.lines) != len(want) {
			t.Errorf("a second time: %v %q", err, d.lines)
		}
		close(hang)
	})
}

// A phase without a time-out of its own has the default; those that hand over have what is left.
func TestDefaultTimeouts(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for p := range shutdown.Phases {
			s := shutdown.New(scheduler.Goroutines{}, nil, nil)
			s.Add(p, "obedient", func(ctx context.Context) error { <-ctx.Done(); return nil })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			began := time.Now()
			if err := s.Run(ctx, p); err != nil {
				t.Error(p, err)
			}
			want := shutdown.DefaultTimeout
			if p.HandsOver() {
				want = time.Minute
			}
			if took := time.Since(began); took != want {
				t.Errorf("%v takes %v", p, took)
			}
			cancel()
		}
	})
}

// Two callers that shut down at the same time run each task once, and no two phases at a time.
func TestTwoAtATime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &diary{began: time.Now()}
		s := shutdown.New(scheduler.Goroutines{}, nil, nil)
		for p := range shutdown.Phases {
			s.Add(p, "t", func(context.Context) error {
				<-time.After(time.Second)
				d.note("%v", p)
				return nil
			})
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := s.Run(t.Context(), every()...); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, p := range every() {
			if want := fmt.Sprintf("%ds %v", i+1, p); i >= len(d.lines) || d.lines[i] != want {
				t.Fatalf("%q, want %q", d.lines, want)
			}
		}
	})
}
