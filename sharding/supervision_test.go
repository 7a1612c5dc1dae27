package sharding

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// supervised is a region whose failures are listed.
func supervised(t *testing.T, s Supervision) (g *Region[message_], failures *[]Failure) {
	failures = &[]Failure{}
	typ := cartType(&cartLog{})
	typ.Shards, typ.Supervision = 1, s
	typ.OnEvent = onEvent(func(f Failure) { *failures = append(*failures, f) })
	g, _ = localRegion(t, typ)
	return g, failures
}

// fails has a handler of an entity fail, and returns what was done about it.
func fails(t *testing.T, g *Region[message_], failures *[]Failure, msg Request[message_, int]) Failure {
	t.Helper()
	if _, err := Ask(t.Context(), g.Ref("a"), msg); !errors.Is(err, ErrHandler) {
		t.Fatal(err)
	}
	synctest.Wait()
	return (*failures)[len(*failures)-1]
}

// What is done depends on the error; a panic is one, with its value.
func TestDecideByTheError(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, failures := supervised(t, Supervision{Decide: func(err error) Directive {
			if p, ok := errors.AsType[*PanicError](err); ok && p.Value == "boom" {
				return Resume
			}
			return DefaultDirective
		}})
		for _, c := range []struct {
			msg   Request[message_, int]
			want  Directive
			total int
		}{{crash{}, Resume, 1}, {failing{}, Stop, 0}} {
			if err := g.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
				t.Fatal(err)
			}
			if f := fails(t, g, failures, c.msg); f.Directive != c.want {
				t.Errorf("%v, want %v", f, c.want)
			}
			if n, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || n != c.total {
				t.Errorf("%T: %d, %v, want %d", c.msg, n, err, c.total)
			}
		}
	})
}

// A Decide that panics, ends its goroutine, or answers with nothing known, stops the entity and not
// the worker.
func TestDecideThatFails(t *testing.T) {
	for name, decide := range map[string]func(error) Directive{
		"panic": func(error) Directive { panic("decide") }, "unknown": Always(9),
		"Goexit": func(error) Directive { runtime.Goexit(); return Resume },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g, failures := supervised(t, Supervision{Decide: decide})
				if err := g.Tell(t.Context(), "a", addItem{"x", 1}); err != nil {
					t.Fatal(err)
				}
				if f := fails(t, g, failures, failing{}); f.Directive != Stop {
					t.Errorf("%v, want stop", f)
				}
				if n, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || n != 0 {
					t.Errorf("%d, %v, want a new incarnation", n, err)
				}
				if n := g.Stats().Panics; name != "Goexit" && n != 1 {
					t.Errorf("%d panics, want 1", n)
				}
			})
		})
	}
}

// More restarts than the budget has, within any span of Within, are not made, whatever was handled
// in between; afterwards the budget is whole.
func TestRestartBudget(t *testing.T) {
	for _, over := range []Directive{Stop, Escalate} {
		t.Run(over.String(), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g, failures := supervised(t, Supervision{
					Decide: Always(Restart), Restarts: 2, Within: time.Minute, OverBudget: over, Backoff: time.Second,
				})
				if err := g.Tell(t.Context(), "b", addItem{"x", 1}); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var got []string
				for _, at := range []int{0, 30, 61, 62, 63, 64, 65} { // seconds
					<-time.After(time.Duration(at)*time.Second - time.Since(began))
					f := fails(t, g, failures, failing{})
					if f.OverBudget != (f.Directive == over) {
						t.Errorf("%v at %d s: over budget %t", f.Directive, at, f.OverBudget)
					}
					n, err := Ask(t.Context(), g.Ref("b"), total{})
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprint(f.Directive, " ", n))
					if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil { // ends the row
						t.Fatal(err)
					}
				}
				o, after := over.String(), " 1"
				if over == Escalate {
					after = " 0"
				}
				want := []string{
					"restart 1", "restart 1", "restart 1", // of 30 s and 61 s
					o + after, "restart" + after, "restart" + after, o + after,
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

// Over budget what waits is not held back: callers hear of failures at once.
func TestOverBudgetNothingIsHeldBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, _ := supervised(t, Supervision{
			Decide: Always(Restart), Restarts: 1, Within: time.Hour, Backoff: time.Minute,
		})
		var took []time.Duration
		for range 4 {
			began := time.Now()
			if _, err := Ask(within(t, time.Hour), g.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
				t.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		// the second waits for the restart, fails over budget, and the third finds a new incarnation
		if want := []time.Duration{0, time.Minute, 0, time.Minute}; !slices.Equal(took, want) {
			t.Errorf("they took %v, want %v", took, want)
		}
	})
}

// What Stop fails with is told, and is no question.
func TestAFailureOfStopIsNoQuestion(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var failures []Failure
		typ := cartType(&cartLog{})
		typ.New = func(*Context[message_]) Entity[message_] { return panicsInStop{} }
		typ.Supervision.Decide = func(err error) Directive {
			t.Errorf("it was asked about %v", err)
			return Resume
		}
		typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
		g, _ := localRegion(t, typ)
		if err := g.Tell(t.Context(), "a", leaveNow{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := `Cart/"a" failed: in Stop: panic: no stop: stop`
		if len(failures) != 1 || failures[0].String() != want {
			t.Errorf("%v, want %s", failures, want)
		}
	})
}

// panicsInStop ends when it is told to, and panics then.
type panicsInStop struct{}

func (panicsInStop) Receive(c *Context[message_], _ message_) error {
	c.Passivate()
	return nil
}

func (panicsInStop) Stop(*Context[message_]) error { panic("no stop") }
