package file_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
)

// A process that holds as many leases as it may have files open is told so. What it holds stays
// held, and what it gives back makes room.
func TestTooManyOpenFiles(t *testing.T) {
	d := open(t, t.TempDir())
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
	const most = 100
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	var held []locks.Lock
	acquire := func() error {
		l, err := d.Lock(fmt.Sprint("x", len(held)), "me")
		if err != nil {
			t.Fatal(err)
		}
		ok, err := l.Acquire(t.Context(), func(err error) { t.Errorf("lost: %v", err) })
		if ok {
			held = append(held, l)
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	}
	var err error
	for err == nil && len(held) < most {
		err = acquire()
	}
	if !errors.Is(err, locks.ErrUnusable) || !errors.Is(err, syscall.EMFILE) ||
		!strings.Contains(err.Error(), "ulimit -n") || len(held) < most/2 {
		t.Fatalf("with %d leases: %v", len(held), err)
	}
	for _, l := range held {
		if l.Until().IsZero() {
			t.Fatal("one was lost")
		}
	}
	if err := held[0].Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := acquire(); err != nil {
		t.Errorf("there is room again: %v", err)
	}
}
