package locks_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	lockstest.Run(t, func(testing.TB) (one, other locks.Store) {
		m := locks.NewMemory()
		return m, m
	})
}

func TestMemoryTakesAway(t *testing.T) {
	ctx := context.Background()
	m := locks.NewMemory()
	a, _ := m.Lock("x", "a")
	b, _ := m.Lock("x", "b")
	told := make(chan error, 2)
	if ok, err := a.Acquire(ctx, func(err error) { told <- err }); !ok || err != nil {
		t.Fatal(ok, err)
	}
	m.Take("x")
	m.Take("x") // once
	if err := <-told; !errors.Is(err, locks.ErrNotHeld) {
		t.Error(err)
	}
	if !a.Until().IsZero() {
		t.Error("the loser still holds")
	}
	if err := a.Save(ctx, nil); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("the loser saves:", err)
	}
	if ok, err := b.Acquire(ctx, nil); !ok || err != nil {
		t.Error("another cannot acquire it:", ok, err)
	}
}

func TestMemoryFails(t *testing.T) {
	down := errors.New("down")
	m := locks.NewMemory()
	a, _ := m.Lock("x", "a")
	m.Fail(down)
	if ok, err := a.Acquire(context.Background(), nil); ok || !errors.Is(err, down) {
		t.Error(ok, err)
	}
	m.Fail(nil)
	if ok, err := a.Acquire(context.Background(), nil); !ok || err != nil {
		t.Error(ok, err)
	}
}

func TestMemoryNamesTheHolder(t *testing.T) {
	ctx := context.Background()
	m := locks.NewMemory()
	a, _ := m.Lock("x", "ann")
	b, _ := m.Lock("x", "bob")
	if who := b.(locks.Holder).Holder(ctx); who != "" {
		t.Errorf("it is not held, and the holder is %q", who)
	}
	_, _ = a.Acquire(ctx, nil)
	if who := b.(locks.Holder).Holder(ctx); who != "ann" {
		t.Errorf("ann holds it, and it says %q", who)
	}
}
