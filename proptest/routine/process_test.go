package routine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/routine"
)

// counter is a machine that notes what it is stepped with, and ticks every second.
type counter struct {
	name string
	note func(format string, args ...any)
	due  time.Time
}

const tick = -1

func (c *counter) Step(now time.Time, in int) {
	c.note("%s %d", c.name, in)
	if c.due.IsZero() || in == tick {
		c.due = now.Add(time.Second)
	}
}
func (c *counter) Flush()              {}
func (c *counter) Deadline() time.Time { return c.due }
func (c *counter) Tick() int           { return tick }

// play runs two processes with a loop each, and functions that wait for each other.
func play(seed uint64) string {
	var trace strings.Builder
	w := routine.NewWorld(seed)
	defer w.End()
	begin := w.Now()
	note := func(format string, args ...any) {
		fmt.Fprintf(&trace, "%v "+format+"\n", append([]any{w.Now().Sub(begin)}, args...)...)
	}
	for _, name := range []string{"a", "b"} {
		p := w.NewProcess()
		l := runloop.New(p, &counter{name: name, note: note}, 100)
		p.Enter(l.Start)
		p.Enter(func() {
			g := scheduler.NewGroup(p)
			for i := range 5 {
				g.Go(func() {
					over := make(chan struct{})
					p.AfterFunc(time.Duration(p.Uint64()%1000)*time.Millisecond, func() { close(over) })
					p.Await(over, nil, nil)
					l.Post(i)
				})
			}
			g.Wait()
			note("%s has posted", name)
			p.AfterFunc(3*time.Second, func() {
				l.Stop()
				note("%s has stopped", name)
			})
		})
	}
	for w.Step() {
	}
	return trace.String()
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	first := play(1)
	if again := play(1); again != first {
		t.Errorf("two runs of one seed differ:\n%s\n%s", first, again)
	}
	if other := play(2); other == first {
		t.Error("another seed changes nothing")
	}
	for _, name := range []string{"a", "b"} {
		for _, want := range []string{" 0\n", " 4\n", " has posted\n", " has stopped\n"} {
			if !strings.Contains(first, name+want) {
				t.Errorf("%q is missing:\n%s", name+want, first)
			}
		}
	}
}

func TestAwaitTakesWhatIsThere(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	var got []int
	token, closed := make(chan struct{}, 1), make(chan struct{})
	p.Enter(func() {
		for range 3 {
			got = append(got, p.Await(nil, token, closed))
		}
	})
	token <- struct{}{}
	w.Run(time.Second)
	if len(got) > 0 {
		t.Fatalf("it went on by itself: %v", got)
	}
	p.Look() // what came did not come by an event of the process
	w.Run(time.Second)
	if !slices.Equal(got, []int{1}) {
		t.Fatalf("got %v", got)
	}
	p.Enter(func() { close(closed) })
	w.Run(time.Second)
	if !slices.Equal(got, []int{1, 2, 2}) {
		t.Fatalf("got %v", got)
	}
}

// Settle lets all routines go on that can, and no timer fire that is due later.
func TestSettleWaitsForNoTime(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p, begin := w.NewProcess(), w.Now()
	hops, late := 0, 0
	var hop func()
	hop = func() {
		if hops++; hops < 100 {
			p.Go(hop)
		}
	}
	p.Enter(hop)
	p.AfterFunc(time.Minute, func() { late++ })
	w.Settle()
	if took := w.Now().Sub(begin); hops != 100 || late != 0 || took > time.Second {
		t.Errorf("%d hops and %d timers in %v", hops, late, took)
	}
}

func TestKilledProcessRunsNothing(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	unwound, went, never := 0, 0, make(chan struct{})
	for range 3 {
		p.Enter(func() {
			defer func() { unwound++ }()
			defer func() { p.Await(never, nil, nil) }() // it may wait while it is unwound
			p.Await(never, nil, nil)
			went++
		})
	}
	p.Go(func() { went++ })
	p.AfterFunc(0, func() { went++ })
	p.Kill()
	p.Enter(func() { went++ })
	for w.Step() {
	}
	if unwound != 3 || went > 0 {
		t.Errorf("%d were unwound, %d went on", unwound, went)
	}
}

// What is no routine of a process is told so, and a routine is not.
func TestOwn(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	p.Enter(p.Own)
	var told any
	func() {
		defer func() { told = recover() }()
		p.Own()
	}()
	if told == nil {
		t.Error("a goroutine from outside may call")
	}
}

func TestRoutineMayKillItsProcess(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	went, unwound := false, false
	p.Enter(func() {
		defer func() { unwound = true }()
		p.Kill()
		if unwound {
			t.Error("it was unwound while it ran")
		}
		p.Await(make(chan struct{}), nil, nil)
		went = true
	})
	if went || !unwound {
		t.Errorf("went on: %t, unwound: %t", went, unwound)
	}
}

func TestContextEndsByVirtualTime(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	begin := w.Now()
	outer, stop := p.WithTimeout(context.Background(), time.Minute)
	inner, cancel := p.WithTimeout(outer, time.Hour)
	derived, release := context.WithCancel(inner)
	defer release()
	defer cancel()
	if end, ok := inner.Deadline(); !ok || end.Sub(begin) != time.Minute {
		t.Errorf("the deadline is %v", end)
	}
	var after time.Duration
	p.Enter(func() {
		p.Await(derived.Done(), nil, nil)
		after = w.Now().Sub(begin).Truncate(time.Second)
	})
	w.Run(2 * time.Minute)
	if after != time.Minute {
		t.Errorf("it ended after %v", after)
	}
	for _, ctx := range []context.Context{outer, inner} {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("it ended with %v", ctx.Err())
		}
	}
	if !errors.Is(context.Cause(derived), context.DeadlineExceeded) {
		t.Errorf("the derived one ended because of %v", context.Cause(derived))
	}
	stop()
	other, stop := p.WithTimeout(context.Background(), time.Minute)
	stop()
	if !errors.Is(other.Err(), context.Canceled) {
		t.Errorf("a cancelled one ended with %v", other.Err())
	}
}

// TestContextEndsUnseen: what begins to wait for a context that has ended goes on at once, and hears why.
func TestContextEndsUnseen(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	expired, release := p.WithTimeout(context.Background(), time.Minute)
	w.Run(2 * time.Minute)
	release() // too late to change anything
	cancelled, cancel := p.WithTimeout(context.Background(), time.Minute)
	cancel()
	w.Run(2 * time.Minute) // its time would have come
	for want, ctx := range map[error]context.Context{context.DeadlineExceeded: expired, context.Canceled: cancelled} {
		waits := true
		p.Enter(func() { p.Await(ctx.Done(), nil, nil); waits = false })
		if waits || ctx.Err() != want || context.Cause(ctx) != want {
			t.Errorf("%v: waits %t, ended with %v because of %v", want, waits, ctx.Err(), context.Cause(ctx))
		}
	}
}

func TestPanicTellsWhere(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p := w.NewProcess()
	defer func() {
		text := fmt.Sprint(recover())
		if !strings.Contains(text, "boom") || !strings.Contains(text, "process_test.go") {
			t.Errorf("the panic says %s", text)
		}
	}()
	p.Enter(func() { panic("boom") })
}
