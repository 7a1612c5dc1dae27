package lockstest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Drill is what tests of stores with a server have in common. Limit is how long it waits for one thing: it is
// reached only when something is broken.
type Drill struct{ Limit time.Duration }

// Door makes a door to the name x, which is closed when the test ends.
func (Drill) Door(t testing.TB, s locks.Store, owner string) locks.Lock {
	t.Helper()
	l, err := s.Lock("x", owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the server may have ended
	return l
}

// Acquire makes a door the holder, and returns what tells of the loss.
func (Drill) Acquire(t testing.TB, l locks.Lock) (lost chan error) {
	t.Helper()
	lost = make(chan error, 2)
	if ok, err := l.Acquire(t.Context(), func(err error) { lost <- err }); !ok || err != nil {
		t.Fatalf("acquired %t, %v", ok, err)
	}
	return lost
}

// Takes has a door acquire until it is the holder, which must not be before the time of the other one, if there
// is one, is over.
func (d Drill) Takes(t testing.TB, l, other locks.Lock) (lost chan error) {
	t.Helper()
	lost = make(chan error, 2)
	d.Eventually(t, "the other one acquires", func() bool {
		ok, err := l.Acquire(t.Context(), func(err error) { lost <- err })
		if err != nil {
			t.Fatal(err)
		}
		return ok
	})
	if other == nil {
		return lost
	}
	if until := other.Until(); time.Now().Before(until) {
		t.Errorf("it is acquired %v before the end of the hold", time.Until(until))
	}
	return lost
}

// Eventually waits until something is so.
func (d Drill) Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), d.Limit)
	defer cancel()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", d.Limit, what)
		}
	}
}

// Renewed waits for a renewal whose request was sent after this call. Of the TTL 3 percent are kept back.
func (d Drill) Renewed(t testing.TB, l locks.Lock, ttl time.Duration) {
	t.Helper()
	want := time.Now().Add(ttl - ttl*3/100)
	d.Eventually(t, "the lease is renewed", func() bool {
		until := l.Until()
		if until.Before(time.Now()) {
			t.Fatal("the lease has ended instead of being renewed")
		}
		return !until.Before(want)
	})
}

// Told waits for the loss.
func (d Drill) Told(t testing.TB, lost chan error) error {
	t.Helper()
	select {
	case err := <-lost:
		return err
	case <-time.After(d.Limit):
		t.Fatal("no loss was told")
		return nil
	}
}

// Detect fails the test if two doors have an Until that lies ahead, until stop is called.
func (Drill) Detect(t testing.TB, a, b locks.Lock) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			one, other := a.Until(), b.Until()
			if now := time.Now(); now.Before(one) && now.Before(other) {
				t.Errorf("two holders: until %v and %v", one, other)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// StalledHolders has two contend, while the network of the holder stands still, round after round. The other one
// gets the lease when that of the holder is past its Until, and finds its record. What the former holder has sent
// meanwhile takes no effect later.
func (d Drill) StalledHolders(t testing.TB, rounds int, doors [2]locks.Lock, stall, flow func(i int)) {
	t.Helper()
	defer d.Detect(t, doors[0], doors[1])()
	lost := d.Acquire(t, doors[0])
	for round := range rounds {
		holds, waits := doors[round%2], doors[1-round%2]
		record := fmt.Sprint("of round ", round)
		finds := func(when string) {
			t.Helper()
			if got, err := waits.Load(t.Context()); string(got) != record || err != nil {
				t.Errorf("%s the record is %q, %v, want %q", when, got, err, record)
			}
		}
		if err := holds.Save(t.Context(), []byte(record)); err != nil {
			t.Fatal(err)
		}
		stall(round % 2)
		saved := make(chan error, 1)
		go func() { saved <- holds.Save(t.Context(), []byte("too late")) }()
		next := d.Takes(t, waits, holds)
		if err := d.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) {
			t.Error("the loss:", err)
		}
		if err := <-saved; err == nil {
			t.Error("a save through a network that stands still succeeds")
		}
		finds("while it stands still")
		flow(round % 2)
		if err := holds.Save(t.Context(), nil); !errors.Is(err, locks.ErrNotHeld) {
			t.Error("the former holder saves:", err)
		}
		finds("when it flows again")
		lost = next
	}
}

// LostAnswers has the answer of the write that acquires get lost, while lose says so: the owner does not count as
// the holder, and gets the lease, or gives it back, as if nothing had happened.
func (d Drill) LostAnswers(t testing.TB, mine, other locks.Lock, lose func(on bool)) {
	t.Helper()
	fails := func() {
		t.Helper()
		lose(true)
		ok, err := mine.Acquire(t.Context(), nil)
		lose(false)
		if ok || !errors.Is(err, locks.ErrUnusable) || !mine.Until().IsZero() {
			t.Fatalf("acquired %t, %v, until %v", ok, err, mine.Until())
		}
		if ok, err := other.Acquire(t.Context(), nil); ok || err != nil {
			t.Fatalf("the write has had no effect: %t, %v", ok, err)
		}
	}
	release := func() {
		t.Helper()
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fails()
	d.Acquire(t, mine)
	release()
	fails()
	release()
	d.Acquire(t, other)
}
