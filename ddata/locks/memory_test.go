package locks_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

// idVariable makes a process print the ID of its first store, and end.
const idVariable = "COTERIE_TEST_PRINT_ID"

func TestMain(m *testing.M) {
	if os.Getenv(idVariable) != "" {
		fmt.Print(locks.NewMemory().ID())
		return
	}
	goleak.VerifyTestMain(m)
}

// The stores of two processes have different IDs, by which nodes see that they have not the same one.
func TestMemoriesOfTwoProcesses(t *testing.T) {
	seen := map[string]bool{locks.NewMemory().ID(): true, locks.NewMemory().ID(): true}
	for range 2 {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), idVariable+"=1")
		id, err := child.Output()
		if err != nil || !strings.HasPrefix(string(id), "memory ") {
			t.Fatalf("%q: %v", id, err)
		}
		seen[string(id)] = true
	}
	if len(seen) != 4 {
		t.Errorf("four stores have the IDs %v", seen)
	}
}

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
