package locks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

// broken is a store all of whose methods panic, those of its doors too.
type broken struct{ *locks.Memory }

type brokenDoor struct{}

func (b broken) Lock(name, _ string) (locks.Lock, error) {
	if name == "none" {
		panic("store")
	}
	return brokenDoor{}, nil
}

func (brokenDoor) Acquire(context.Context, func(error)) (bool, error) { panic("acquire") }
func (brokenDoor) Release(context.Context) error                      { panic("release") }
func (brokenDoor) Until() time.Time                                   { panic("until") }
func (brokenDoor) Load(context.Context) ([]byte, error)               { panic("load") }
func (brokenDoor) Save(context.Context, []byte) error                 { panic("save") }
func (brokenDoor) Close() error                                       { panic("close") }
func (brokenDoor) Holder(context.Context) string                      { panic("holder") }

// Each panic is an error of its call, or says that the lease is not held, and is told with its
// stack.
func TestGuarded(t *testing.T) {
	var told []locks.Panic
	s := locks.Guarded(broken{locks.NewMemory()}, func(p locks.Panic) { told = append(told, p) })
	demand := func(call string, err error) {
		t.Helper()
		if !errors.Is(err, locks.ErrPanicked) || !strings.HasPrefix(err.Error(), call) {
			t.Errorf("%s returns %v", call, err)
		}
		if n := len(told); n == 0 || told[n-1].Call != call ||
			!strings.Contains(string(told[n-1].Stack), "guard_test.go") {
			t.Errorf("%s was not told", call)
		}
		told = nil
	}
	_, err := s.Lock("none", "me")
	demand("Store.Lock", err)
	l, err := s.Lock("a", "me")
	if err != nil {
		t.Fatal(err)
	}
	ok, err := l.Acquire(t.Context(), nil)
	demand("Lock.Acquire", err)
	_, err = l.Load(t.Context())
	demand("Lock.Load", err)
	demand("Lock.Save", l.Save(t.Context(), nil))
	demand("Lock.Release", l.Release(t.Context()))
	demand("Lock.Close", l.Close())
	until, holder := l.Until(), l.(locks.Holder).Holder(t.Context())
	if ok || !until.IsZero() || holder != "" || len(told) != 2 {
		t.Errorf("acquired %t, held until %v by %q; told %d times", ok, until, holder, len(told))
	}
}

// Guarded changes nothing of a store that does not panic.
func TestGuardedKeepsTheLaws(t *testing.T) {
	lockstest.Run(t, func(t testing.TB) (one, other locks.Store) {
		s := locks.Guarded(locks.NewMemory(), func(p locks.Panic) { t.Errorf("%s: %v\n%s", p.Call, p.Value, p.Stack) })
		return s, s
	})
}
