package sharding

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// restFails is a rest that fails.
func restFails(*Context[message_]) error { return errors.New("unwritten") }

// faults are the rests that fail.
var faults = map[string]func(*Context[message_]) error{
	"error": restFails,
	"panic": func(*Context[message_]) error { panic("unwritten") },
	"exit":  func(*Context[message_]) error { runtime.Goexit(); return nil },
}

// A rest that fails is a failure like another, and so is a handler that fails after Await: its result
// comes too late.
func TestAwaitAndFailures(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: time.Second}
		var failures []Failure
		typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
		g, _ := localRegion(t, typ)
		for _, rest := range faults {
			answer := askAside(t, g, "a", "1")
			d.result(rest)
			if got := <-answer; !errors.Is(got.err, ErrHandler) {
				t.Error(got)
			}
		}
		if _, err := Ask(t.Context(), g.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
			t.Error(err)
		}
		if n, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || n != 0 {
			t.Error(n, err)
		}
		if len(failures) != 4 || d.stopped > 0 {
			t.Errorf("failures %v, stopped %d", failures, d.stopped)
		}
	})
}

// With resume the incarnation goes on after a rest that has failed.
func TestResumeAfterAwait(t *testing.T) {
	for name, rest := range faults {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				var d desk
				typ := clerks(&d)
				typ.Supervision.Decide = Always(Resume)
				g, _ := localRegion(t, typ)
				answer := askAside(t, g, "a", "1")
				d.result(rest)
				if got := <-answer; !errors.Is(got.err, ErrHandler) {
					t.Error(got)
				}
				if n, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || n != 1 || d.made != 1 {
					t.Error(n, err, d.made)
				}
			})
		})
	}
}

// If the rest of New fails, so has New: the message that the incarnation was made for is failed, and
// no handler sees what was not loaded, whatever the directive.
func TestNewFailsLate(t *testing.T) {
	for _, directive := range []Directive{Resume, Restart, Stop} {
		for name, rest := range faults {
			t.Run(fmt.Sprint(directive, " after ", name), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					d := desk{loads: true}
					typ := clerks(&d)
					typ.Supervision = Supervision{Decide: Always(directive), Backoff: time.Second}
					g, _ := localRegion(t, typ)
					first := askAside(t, g, "a", "1")
					loaded := <-d.waits
					second := askAside(t, g, "a", "2")
					synctest.Wait()
					loaded.Continue(rest)
					if got := <-first; !errors.Is(got.err, ErrHandler) || !strings.Contains(got.err.Error(), "in New") {
						t.Error(got)
					}
					d.result(none)
					d.result(replies("two"))
					if got := <-second; got != (gotReply{"two", nil}) || d.made != 2 || d.stopped > 0 {
						t.Errorf("%v; %d made, %d stopped", got, d.made, d.stopped)
					}
				})
			})
		}
	}
}

// A rest that panics is a use of its entity, as one that returns: it is not idle.
func TestARestThatPanicsIsActivity(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Passivation.Strategy.IdleTimeout = time.Minute
		typ.Supervision.Decide = Always(Resume)
		g, _ := localRegion(t, typ)
		g.plane.Entities.StartScans()
		if err := g.Tell(t.Context(), "a", echo{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Second)
		d.result(func(*Context[message_]) error { panic("no luck") })
		<-time.After(55 * time.Second)
		if n := g.Stats().Entities; n != 1 || d.stopped > 0 {
			t.Errorf("%d entities, %d were stopped, 55 s after the rest", n, d.stopped)
		}
	})
}
