package discovery

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Loop asks a source as long as that is wanted. Only Source, Pace and Found are required.
type Loop struct {
	// Source is asked.
	Source Source
	// Pace says how long the pause may grow, and whether the source is asked at all at this moment.
	// It is called before each question and must be quick.
	Pace func() (most time.Duration, wanted bool)
	// Found takes each answer, errors included, from the loop's goroutine.
	Found func(Answer)
	// RetryMin is the first pause. Each is drawn from the upper half of a span that doubles up to
	// what Pace says, and begins anew when the answer differs from the one before. Default 250 ms.
	RetryMin time.Duration
	// Timeout bounds one question. Default 5 s.
	Timeout time.Duration
	// Changed, when set, takes the first answer, and each that differs from the one before, after
	// Found. Errors are told apart by whether they are there at all: their texts may hold the time
	// or a port.
	Changed func(Answer)
}

// Run asks until ctx ends.
func (l Loop) Run(ctx context.Context) {
	if l.RetryMin == 0 {
		l.RetryMin = 250 * time.Millisecond
	}
	if l.Timeout == 0 {
		l.Timeout = 5 * time.Second
	}
	var last *Answer
	tries := 0
	for ctx.Err() == nil {
		most, wanted := l.Pace()
		pause := max(most, l.RetryMin)
		if wanted {
			a := l.ask(ctx)
			if ctx.Err() != nil {
				return
			}
			changed := last == nil || !a.same(*last)
			last = &a
			l.Found(a)
			if changed {
				tries = 0
				if l.Changed != nil {
					l.Changed(a)
				}
			}
			pause = timer.Backoff(l.RetryMin, pause, tries)
			tries++
		} else {
			last = nil // it is said again when it is asked again
		}
		wait(ctx, timer.Jitter(pause, rand.N[time.Duration]))
	}
}

func (l Loop) ask(ctx context.Context) Answer {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	return Ask(ctx, l.Source)
}

// same reports whether two answers say the same, errors by whether they are there at all: their
// texts may hold the time or a port.
func (a Answer) same(b Answer) bool {
	return (a.Err == nil) == (b.Err == nil) && slices.Equal(a.Addrs, b.Addrs)
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
