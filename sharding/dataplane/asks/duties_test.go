package asks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// Questions that handlers have taken and forgotten are bounded: the oldest makes room if it is old,
// and else there is none.
func TestDutiesAreBounded(t *testing.T) {
	now := time.Duration(0)
	d := NewDuties(time.Second, func() time.Duration { return now })
	for i := range uint64(DutiesMax) {
		now = time.Duration(i)
		if old, ok := d.Take(Duty{Call: i + 1}); old != (Duty{}) || !ok {
			t.Fatalf("%d: %v made room; taken: %t", i+1, old, ok)
		}
	}
	now = time.Second - 1
	if _, ok := d.Take(Duty{Call: DutiesMax + 1}); ok {
		t.Error("one more was taken, though all are young")
	}
	d.Settle(Duty{Call: 1})
	now = time.Second
	if old, ok := d.Take(Duty{Call: DutiesMax + 1}); old != (Duty{}) || !ok {
		t.Errorf("with room for one: %v made room; taken: %t", old, ok)
	}
	if _, ok := d.Take(Duty{Call: DutiesMax + 2}); ok {
		t.Error("one more was taken, though the oldest is young")
	}
	for i := range uint64(10) {
		now = time.Second + time.Duration(1+i)
		if old, ok := d.Take(Duty{Call: DutiesMax + 2 + i}); old != (Duty{Call: 2 + i}) || !ok {
			t.Errorf("%v made room; taken: %t", old, ok)
		}
	}
	if n := len(d.open); n != DutiesMax || d.byAge.Len() != n {
		t.Errorf("%d are kept", n)
	}
	if old, _ := d.sweepLocked(time.Hour); len(old) != DutiesMax || len(d.open)+d.byAge.Len() > 0 {
		t.Errorf("%d of %d were old", len(old), DutiesMax)
	}
}

// To wait for answers ends with the last of them, with the time of the last, or with the context.
func TestAwaitDuties(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		d := NewDuties(time.Minute, clock)
		if old, err := d.Await(t.Context(), scheduler.Goroutines{}); len(old) > 0 || err != nil {
			t.Errorf("none is open: %v, %v", old, err)
		}
		d.Take(Duty{Call: 1, Origin: 7})
		d.Take(Duty{Call: 2, Origin: 7})
		time.AfterFunc(time.Second, func() { d.Settle(Duty{Call: 1, Origin: 7}) })
		time.AfterFunc(2*time.Second, func() { d.Settle(Duty{Call: 2, Origin: 7}) })
		if old, err := d.Await(t.Context(), scheduler.Goroutines{}); len(old) > 0 || err != nil ||
			clock() != 2*time.Second {
			t.Errorf("after %v: %v, %v", clock(), old, err)
		}
		d.Take(Duty{Call: 3, Origin: 7})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Await(ctx, scheduler.Goroutines{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context has ended: %v", err)
		}
		old, err := d.Await(t.Context(), scheduler.Goroutines{})
		if len(old) != 1 || old[0] != (Duty{Call: 3, Origin: 7}) || err != nil || clock() != 62*time.Second {
			t.Errorf("after %v: %v, %v", clock(), old, err)
		}
	})
}
