package entities

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Directive is what is done about a failed handler.
type Directive uint8

// The directives. Package sharding explains them.
const (
	DefaultDirective Directive = iota
	Stop
	Restart
	Resume
	Escalate
	directives
)

func (d Directive) String() string {
	if d < directives {
		return [...]string{"default", "stop", "restart", "resume", "escalate"}[d]
	}
	return fmt.Sprintf("Directive(%d)", uint8(d))
}

// Always is a Supervision.Decide that gives every failure the same answer.
func Always(d Directive) func(error) Directive { return func(error) Directive { return d } }

// Supervision says what happens to an entity whose handler failed, and how often that may be a
// restart.
type Supervision struct {
	// Decide chooses by the failure: what Receive or New has failed with, or a *failure.PanicError. The
	// entity's worker waits for it, so it must be quick. If it panics, which is logged and counted
	// (Stats.Panics), the entity is stopped. A failure of Stop is no question: the entity ends.
	// Default: DefaultDirective, which it may answer with as well.
	Decide func(err error) Directive
	// Restarts is the budget: how many restarts an entity has within any span of Within. At most
	// 1,000. Default 0: as many as it needs.
	Restarts int
	// Within is the span that Restarts holds for. Messages that are handled in between do not
	// shorten it. Default 1 min.
	Within time.Duration
	// OverBudget is done in place of a restart that the budget does not allow: Stop or Escalate.
	// An entity that ends, so or otherwise, has the whole budget when it is made again. Default
	// Stop: backoffs hold back no longer what waits, and each asker hears of a failure at once.
	OverBudget Directive
	// Backoff is the first pause before a restart. It is doubled for each failure in a row, up to
	// BackoffMax; a message that is handled ends the row. Default 100 ms.
	Backoff time.Duration
	// BackoffMax is the longest pause before a restart. Default 10 s, or Backoff if that is longer.
	BackoffMax time.Duration
}

// WithDefaults is s with the default in place of each zero field that has one.
func (s Supervision) WithDefaults() Supervision {
	for d, def := range map[*time.Duration]time.Duration{ // order: each stands by itself
		&s.Within: time.Minute, &s.Backoff: 100 * time.Millisecond,
	} {
		if *d == 0 {
			*d = def
		}
	}
	if s.BackoffMax == 0 {
		s.BackoffMax = max(10*time.Second, s.Backoff)
	}
	if s.OverBudget == DefaultDirective {
		s.OverBudget = Stop
	}
	return s
}

// restartsMost is the highest Restarts: an entity keeps the time of each.
const restartsMost = 1000

// Check adds what is wrong.
func (s Supervision) Check(f *config.Faults) {
	d := s.WithDefaults()
	f.Add(s.Restarts < 0 || s.Restarts > restartsMost, "Supervision.Restarts", "is %d, want 0 to %d", s.Restarts,
		restartsMost)
	f.Add(s.Within < 0, "Supervision.Within", "%v is negative", s.Within)
	f.Add(s.Within > 0 && s.Restarts == 0,
		"Supervision.Within", "is %v, but Restarts is 0: say how many restarts the budget has", s.Within)
	switch {
	case d.OverBudget != Stop && d.OverBudget != Escalate:
		f.Add(true, "Supervision.OverBudget", "is %v, want Stop or Escalate", s.OverBudget)
	default:
		f.Add(s.OverBudget != DefaultDirective && s.Restarts == 0,
			"Supervision.OverBudget", "is %v, but Restarts is 0: say how many restarts the budget has", s.OverBudget)
	}
	f.Add(s.Backoff < 0, "Supervision.Backoff", "%v is negative", s.Backoff)
	f.Add(d.BackoffMax < max(0, s.Backoff), "Supervision.BackoffMax", "%v is negative or below Backoff %v",
		d.BackoffMax, s.Backoff)
}

// Failure is one failed handler.
type Failure struct {
	Type, ID   string
	Err        error     // what the handler has failed with; errors.As finds a *failure.PanicError
	Directive  Directive // what was done about it
	OverBudget bool      // in place of a restart
}

var _ events.Event = Failure{}

// Line implements events.Event.
func (f Failure) Line() events.Line {
	l := f.short()
	if p, ok := errors.AsType[*failure.PanicError](f.Err); ok {
		l.Attrs = append(l.Attrs, slog.String("stack", string(p.Stack)))
	}
	return l
}

// short is the line without a stack.
func (f Failure) short() events.Line {
	return events.Line{Level: slog.LevelError, Message: "entity failed", Attrs: []slog.Attr{
		slog.String("type", f.Type), slog.String("id", f.ID), slog.Any("error", f.Err),
		slog.String("outcome", f.Directive.String()), slog.Bool("over_budget", f.OverBudget),
	}}
}

func (f Failure) String() string {
	s := fmt.Sprintf("%s/%q failed: %v: %v", f.Type, f.ID, f.Err, f.Directive)
	if f.OverBudget {
		s += ", as its restarts are used up"
	}
	return s
}

// restarts is what an entity's failures have come to.
type restarts struct {
	row   int             // failures since a message was handled
	times []time.Duration // on the region's clock, of the latest restarts: at most Supervision.Restarts
}

// next returns the pause before a restart at a time; ok is false if the budget is used up.
func (h *restarts) next(now time.Duration, s *Supervision) (pause time.Duration, ok bool) {
	if s.Restarts > 0 {
		if len(h.times) == s.Restarts {
			if now-h.times[0] < s.Within {
				return 0, false
			}
			h.times = append(h.times[:0], h.times[1:]...)
		}
		h.times = append(h.times, now)
	}
	pause = timer.Backoff(s.Backoff, s.BackoffMax, h.row)
	h.row++
	return pause, true
}

// handled notes that a message was handled.
func (h *restarts) handled() { h.row = 0 }

// forget begins anew.
func (h *restarts) forget() { *h = restarts{} }
