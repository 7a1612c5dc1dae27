package membership

import (
	"fmt"
	"time"
)

// Lease is the permission to run entities and singletons. It is a value: the driver publishes the machine's lease
// after each step, and whoever is about to run something asks Holds with a time read at that moment, never with a
// cached one. The zero Lease holds never.
type Lease struct {
	epoch   Epoch
	until   time.Time // monotonic end; zero = none
	wall    int64     // wall end in Unix nanoseconds
	forever bool      // the own vote alone is a quorum
}

// Holds says whether the lease holds at now. Monotonic time and wall time must both be within it: during a suspend
// monotonic time may stand still while the promises of the others run out.
func (l Lease) Holds(now time.Time) bool {
	return l.forever || now.Before(l.until) && now.UnixNano() < l.wall
}

// Epoch is the epoch of the view for which the lease was computed.
func (l Lease) Epoch() Epoch { return l.epoch }

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
