package shardingtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrFault is what a call fails with as the test wants, and the answer that is lost.
var ErrFault = errors.New("shardingtest: the store fails as the test wants")

// Hooked is a store whose calls can be held up: those of sharding/persistence/memory and of
// sharding/remind/memory.
type Hooked interface {
	// Before has fn called at the beginning of every call, with the name of the method. One that fails
	// has no effect.
	Before(fn func(ctx context.Context, call string) error)
}

// Faults has calls of a store fail. A method is named as in its port, such as Append of
// persistence.Journal and SaveStates of persistence.States. A test fails at its end if none of the calls that
// were to have a fault was ever called. Its methods may be called from any goroutine.
type Faults struct {
	n *Node

	mu    sync.Mutex
	rules []*rule
	calls []string
	named [][]string // of each fault, the calls that were to have it
}

// rule is what happens to some calls.
type rule struct {
	left  int
	calls []string // their names; empty: all
	fault fault
}

type fault uint8

const (
	fails fault = iota
	hangs
	loses
)

// Faults takes over the hooks of a store. What it is told first holds first.
func (n *Node) Faults(store Hooked) *Faults {
	n.t.Helper()
	if store == nil {
		n.t.Fatalf("shardingtest: Faults of no store: give it the one that the entity type has")
	}
	f := &Faults{n: n}
	store.Before(f.before)
	if s, ok := store.(interface {
		After(fn func(ctx context.Context, call string) error)
	}); ok {
		s.After(f.after)
	}
	n.t.Cleanup(f.check)
	return f
}

// check finds faults of a method that was never called: its name is wrong, or the test does not test
// what it means to.
func (f *Faults) check() {
	for _, names := range f.named {
		if !slices.ContainsFunc(names, func(call string) bool { return slices.Contains(f.calls, call) }) {
			f.n.t.Errorf("shardingtest: %q was to have a fault, and was never called; the calls were %q", names,
				slices.Compact(slices.Sorted(slices.Values(f.calls))))
		}
	}
}

// Fail has the next calls fail with ErrFault, without an effect: those of the named methods, or of all.
// Entities with a store repeat a call that fails, so one failure does not fail them: what is to fail them
// fails until Heal.
func (f *Faults) Fail(times int, calls ...string) { f.add(fails, times, calls) }

// Hang has the next calls hang until their context ends, without an effect.
func (f *Faults) Hang(times int, calls ...string) { f.add(hangs, times, calls) }

// LoseAnswer has the next calls take effect, and fail with ErrFault. Package sharding/persistence/memory
// can do so.
func (f *Faults) LoseAnswer(times int, calls ...string) { f.add(loses, times, calls) }

// Heal ends all faults.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Calls are the names of the methods that were called, in order.
func (f *Faults) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *Faults) add(what fault, times int, calls []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &rule{left: times, calls: calls, fault: what})
	if len(calls) > 0 {
		f.named = append(f.named, calls)
	}
}

// take takes the first fault of some kinds that a call has.
func (f *Faults) take(call string, kinds ...fault) (what fault, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if r.left > 0 && slices.Contains(kinds, r.fault) &&
			(len(r.calls) == 0 || slices.Contains(r.calls, call)) {
			r.left--
			return r.fault, true
		}
	}
	return 0, false
}

func (f *Faults) before(ctx context.Context, call string) error {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	f.mu.Unlock()
	switch what, ok := f.take(call, fails, hangs); {
	case !ok:
		return nil
	case what == hangs:
		f.n.note("", "%s hangs", call)
		f.n.time.Await(ctx.Done(), nil, nil)
		return context.Cause(ctx)
	}
	f.n.note("", "%s fails", call)
	return fmt.Errorf("%w: %s", ErrFault, call)
}

func (f *Faults) after(_ context.Context, call string) error {
	if _, ok := f.take(call, loses); !ok {
		return nil
	}
	f.n.note("", "the answer of %s is lost", call)
	return fmt.Errorf("%w: the answer of %s is lost", ErrFault, call)
}
