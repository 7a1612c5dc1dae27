package ddata

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// grantedLease is the lease of a node of two, from now on for a while.
func grantedLease(now time.Time, lasts time.Duration) nodelease.Lease {
	h := nodelease.NewHolder(nodelease.Config{Self: 1, Duration: lasts, Beat: lasts / 4})
	s := nodelease.Scene{
		Now: now, Epoch: 1, May: true, Voters: []view.Member{{UID: 1}, {UID: 2}},
		Quorum: func(has func(view.UID) bool) bool { return has(1) && has(2) },
	}
	h.Take(s, 2, now, now.UnixNano(), false)
	h.Renew(s)
	return h.Lease()
}

// The end by monotonic time is seen at once. A suspend, of which the wall clock alone knows, is seen when
// wallEvery of monotonic time have passed, and a lease that has ended by the wall clock does not come back.
func TestLeaseEndsByBothClocks(t *testing.T) {
	var p publishedLease
	p.init()
	l := grantedLease(p.began, time.Second)
	suspended := time.Duration(0)
	holds := func(at time.Duration) bool {
		return p.holdsAt(&l, at, func() time.Time {
			if suspended > 0 { // without monotonic time only the wall clock counts
				return p.began.Round(0).Add(at + suspended)
			}
			return p.began.Add(at)
		})
	}
	const at = 100 * time.Millisecond
	if !holds(0) || !holds(at) || !holds(at+wallEvery-1) || !holds(999*time.Millisecond) {
		t.Fatal("it ends too early")
	}
	if holds(time.Second) || holds(time.Second+wallEvery) {
		t.Error("it holds beyond its end")
	}
	if suspended = time.Minute; holds(1000 * at) {
		t.Error("it holds long after its end")
	}
	p.init()
	l, suspended = grantedLease(p.began, time.Second), 0
	if !holds(at) {
		t.Fatal("it does not hold")
	}
	suspended = time.Minute
	if holds(at+wallEvery) || holds(at+wallEvery+1) {
		t.Error("a suspend is not seen")
	}
}
