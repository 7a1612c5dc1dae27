package nodelease

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Lease is the permission to run entities and singletons. It is a value: the driver publishes the
// machine's lease after each step. A caller that is about to run something asks Holds with a time
// read at that moment, never with a cached one. The zero Lease holds never.
//
// Wall time matters only after a suspend. A caller that asks often may ask Outlasts, with monotonic time read
// at that moment, for some microseconds after Holds has said yes.
type Lease struct {
	epoch   view.Epoch
	until   time.Time // monotonic end; zero = none
	wall    int64     // wall end in Unix nanoseconds
	forever bool      // the own vote alone is a quorum
}

// Holds reports whether the lease holds at now. Monotonic time and wall time must both be within
// it: during a suspend monotonic time may stand still while the promises of the others run out.
func (l Lease) Holds(now time.Time) bool {
	return l.forever || now.Before(l.until) && now.UnixNano() < l.wall
}

// Outlasts reports whether the lease holds at now by monotonic time alone, see Lease.
func (l Lease) Outlasts(now time.Time) bool { return l.forever || now.Before(l.until) }

// Forever reports whether the lease holds whatever the time is: the own vote alone is a quorum.
func (l Lease) Forever() bool { return l.forever }

// Until is when the lease ends by monotonic time; zero = it has no end, or there is none.
func (l Lease) Until() time.Time { return l.until }

// String prints the epoch, and that there is a lease or none.
func (l Lease) String() string {
	switch {
	case l.forever:
		return fmt.Sprintf("lease %v, alone", l.epoch)
	case l.until.IsZero():
		return fmt.Sprintf("no lease %v", l.epoch)
	}
	return fmt.Sprintf("lease %v", l.epoch)
}

// longer returns the lease that ends later; o has an end.
func (l Lease) longer(o Lease) Lease {
	if !l.forever && o.until.After(l.until) {
		return o
	}
	return l
}

// grant is one vote for the own lease, until a time on both clocks.
type grant struct {
	until time.Time // zero = none
	wall  int64
}

func (g grant) valid(now time.Time) bool { return now.Before(g.until) && now.UnixNano() < g.wall }
