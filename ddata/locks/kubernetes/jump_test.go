package kubernetes_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
)

// dayTime is a time of day that a test sets.
type dayTime struct {
	ahead  atomic.Int64
	stands atomic.Pointer[time.Time] // nil while it goes on
}

func (d *dayTime) now() time.Time {
	if at := d.stands.Load(); at != nil {
		return *at
	}
	return time.Now().Add(time.Duration(d.ahead.Load()))
}

func (d *dayTime) set(ahead time.Duration) { d.ahead.Store(int64(ahead)) }

// The time of day of the holder is set back, and that of another one back and forth: the holder keeps the
// lease, and the other one does not get it. It gets it when the holder has ended, after the TTL and not before,
// whatever its time of day is.
func TestTimeOfDayIsSet(t *testing.T) {
	t.Parallel()
	const ttl = 2
	server := kubetest.Start(t)
	lines := newLines(t, server.Addr())
	var holder, waiting dayTime
	mine, theirs := open(t, "p", ttl, lines.client(server.Client())), open(t, "p", ttl, server.Client())
	mine.SetTimeOfDay(holder.now)
	theirs.SetTimeOfDay(waiting.now)
	a, b := drill.Door(t, mine, "a"), drill.Door(t, theirs, "b")
	defer drill.Detect(t, a, b)()
	lost := drill.Acquire(t, a)
	for _, ahead := range []time.Duration{-time.Hour, -24 * time.Hour} {
		holder.set(ahead)
		waiting.set(-ahead)
		for range 2 {
			drill.Renewed(t, a, ttl*time.Second)
			if ok, err := b.Acquire(t.Context(), nil); ok || err != nil {
				t.Fatalf("another acquires: %t, %v", ok, err)
			}
		}
	}
	kept(t, lost)
	lines.part()
	waiting.set(100 * time.Hour)
	lost = drill.Takes(t, b, a)
	holder.set(time.Hour)
	waiting.set(-time.Hour)
	drill.Renewed(t, b, ttl*time.Second)
	kept(t, lost)
}

// The time of day of the holder stands still: renewals are renewals all the same.
func TestTimeOfDayStandsStill(t *testing.T) {
	t.Parallel()
	const ttl = 2
	server := kubetest.Start(t)
	var day dayTime
	now := time.Now()
	day.stands.Store(&now)
	mine := open(t, "p", ttl, server.Client())
	mine.SetTimeOfDay(day.now)
	a, b := drill.Door(t, mine, "a"), drill.Door(t, open(t, "p", ttl, server.Client()), "b")
	defer drill.Detect(t, a, b)()
	lost := drill.Acquire(t, a)
	for range 3 {
		drill.Renewed(t, a, ttl*time.Second)
		if ok, err := b.Acquire(t.Context(), nil); ok || err != nil {
			t.Fatalf("another acquires: %t, %v", ok, err)
		}
	}
	kept(t, lost)
}

// A process that was suspended finds its monotonic clock where it was, and the time of day ahead: its lease may
// be another's.
func TestSuspend(t *testing.T) {
	t.Parallel()
	var day dayTime
	s := open(t, "p", 15, kubetest.Start(t).Client())
	s.SetTimeOfDay(day.now)
	l := drill.Door(t, s, "me")
	lost := drill.Acquire(t, l)
	day.set(time.Minute)
	if !l.Until().IsZero() {
		t.Error("Until is", l.Until())
	}
	if err := drill.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("the loss:", err)
	}
}

// What another clock has written into an object does not count, however wrong it is.
func TestRenewTimeOfAWrongClock(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	s := open(t, "p", 1, server.Client())
	l := drill.Door(t, s, "me")
	drill.Acquire(t, l)
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := leaseOf(server)
	for _, renewTime := range []string{"1970-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"} {
		server.Edit(t, "leases", name, func(o map[string]any) {
			spec := o["spec"].(map[string]any)
			spec["holderIdentity"], spec["renewTime"], spec["leaseDurationSeconds"] = "dead", renewTime, 1
		})
		began := time.Now()
		lost := drill.Takes(t, l, nil)
		if took := time.Since(began); took < time.Second || took > 3*time.Second {
			t.Errorf("renewTime %s: a lease of 1 s is taken after %v", renewTime, took)
		}
		drill.Renewed(t, l, time.Second)
		kept(t, lost)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
