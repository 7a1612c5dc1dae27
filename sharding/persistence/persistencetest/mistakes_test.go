package persistencetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The laws hold for the store in memory.
func TestMemory(t *testing.T) {
	Run(t, func(testing.TB) *Opened { return opened(&memory.Store{}) })
}

func opened(store any) *Opened {
	o := &Opened{A: DoorOf(store), B: DoorOf(store)}
	if s, ok := store.(interface {
		Damage(typ string, id protocol.EntityID, seq uint64) error
	}); ok {
		o.Damage = s.Damage
	}
	o.Reopen = func(testing.TB) *Opened { return o }
	return o
}

// Each mistake is caught by the laws that it breaks, and each law catches some mistake.
func TestMistakes(t *testing.T) {
	failing.Quietly(t)
	caught := map[string]bool{}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			for _, name := range m.breaks {
				at := slices.IndexFunc(laws, func(l lawRow) bool { return l.name == name })
				if at < 0 {
					t.Fatalf("there is no law %q", name)
				}
				caught[name] = true
				r := &recorder{ctx: t.Context(), name: t.Name()}
				r.do(laws[at], m.open())
				if !r.Failed() {
					t.Errorf("%q does not catch it", name)
				}
			}
		})
	}
	for _, l := range laws {
		if !caught[l.name] {
			t.Errorf("no mistake shows that %q can fail", l.name)
		}
	}
}

// recorder is a test that may fail.
type recorder struct {
	ctx  context.Context
	name string

	mu     sync.Mutex
	failed bool
}

// do runs a law, and waits for its end.
func (r *recorder) do(row lawRow, o *Opened) {
	var done sync.WaitGroup
	done.Go(func() {
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		r.ctx = ctx
		row.run(&law{tb: r, store: o, reopen: func(o *Opened) *Opened { return o.Reopen(nil) }})
	})
	done.Wait()
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Helper()                  {}
func (r *recorder) Logf(string, ...any)      {}
func (r *recorder) Log(...any)               {}
func (r *recorder) Skipf(string, ...any)     { panic("a law skips") }
func (r *recorder) Skip(...any)              { panic("a law skips") }
func (r *recorder) SkipNow()                 { panic("a law skips") }
func (r *recorder) Errorf(string, ...any)    { r.Fail() }
func (r *recorder) Error(...any)             { r.Fail() }
func (r *recorder) Fatalf(string, ...any)    { r.FailNow() }
func (r *recorder) Fatal(...any)             { r.FailNow() }

func (r *recorder) FailNow() {
	r.Fail()
	runtime.Goexit()
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// yield lets other goroutines run for a while.
func yield() {
	for range 200 {
		runtime.Gosched()
	}
}

var _ tb = (*recorder)(nil)

// A store without any part is no success.
func TestNothing(t *testing.T) {
	for _, l := range laws {
		if l.needs(DoorOf(fmt.Stringer(nil))) {
			t.Errorf("%q needs nothing", l.name)
		}
	}
}
