package protocol

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// LeaseOp is what a Shard or a Coordinator wants of its lease in the store outside of the cluster
// (Config.Leases.Shards, Config.Leases.Coordinator). The operations of one lease are carried out in
// order, each after the one before has ended, and never while a caller waits.
type LeaseOp struct {
	// Acquire: try once to become the holder; LeaseGranted or LeaseRefused answers, and LeaseLost
	// if it is over before Release. Else: give back what was got, or will have been got by then.
	Acquire bool
	// Gen is the acquisition's; answers name it.
	Gen uint64
}

// String prints the operation.
func (o LeaseOp) String() string {
	if o.Acquire {
		return fmt.Sprintf("lease acquire #%d", o.Gen)
	}
	return fmt.Sprintf("lease release #%d", o.Gen)
}

// Inputs about a lease, for Shard and Coordinator.
type (
	// LeaseGranted says that the lease is held.
	LeaseGranted struct{ Gen uint64 }
	// LeaseRefused says that another holds it, or, with the text of an error, that the store cannot
	// be used.
	LeaseRefused struct {
		Gen  uint64
		Text string
	}
	// LeaseReleased says that the release has been carried out, as well as it could be. For Shard.
	LeaseReleased struct{ Gen uint64 }
	// LeaseLost says that it is not held any more although it was not released.
	LeaseLost struct {
		Gen  uint64
		Text string
	}
)

func (LeaseGranted) shardInput()       {}
func (LeaseGranted) coordinatorInput() {}
func (LeaseRefused) shardInput()       {}
func (LeaseRefused) coordinatorInput() {}
func (LeaseReleased) shardInput()      {}
func (LeaseLost) shardInput()          {}
func (LeaseLost) coordinatorInput()    {}

// LeaseState is what a machine knows of its lease.
//
//	none ──acquire──► asked ──granted──► held
//	 ▲ ▲                │ ▲                │
//	 │ │         refused│ │interval        │ lost
//	 │ │                ▼ │                │
//	 │ └── release ── refused              │
//	 └─────────────────────────────────────┘
type LeaseState struct {
	state leaseStep
	gen   uint64
	tries int       // in vain
	due   time.Time // refused: when to try again; asked: when it is said that it takes long
	said  bool      // that it is waited for
}

type leaseStep uint8

const (
	leaseNone leaseStep = iota
	leaseAsked
	leaseRefused
	leaseHeld
)

var leaseStepNames = [...]string{"none", "asked", "refused", "held"}

// String is the name of the state: none, asked, refused or held.
func (c LeaseState) String() string { return leaseStepNames[c.state] }

// Held reports whether the lease is held.
func (c *LeaseState) Held() bool { return c.state == leaseHeld }

// Announced reports whether AnnounceWaiting has been called since the lease was last waited for.
func (c *LeaseState) Announced() bool { return c.said }

// Deadline is when something is due; zero: never.
func (c *LeaseState) Deadline() time.Time { return c.due }

// AwaitReturn makes the return of what was released be due at a time.
func (c *LeaseState) AwaitReturn(at time.Time) { c.due = at }

// Returned reports whether gen names the acquisition that was released last.
func (c *LeaseState) Returned(gen uint64) bool { return gen == c.gen }

// Settle ends the wait for the return.
func (c *LeaseState) Settle() { c.due = time.Time{} }

// Acquire tries. An answer that takes as long as the pause between two tries is taken for a refusal
// as far as others wait for it.
func (c *LeaseState) Acquire(now time.Time, interval time.Duration) LeaseOp {
	c.gen++
	c.state, c.due = leaseAsked, now.Add(interval)
	return LeaseOp{Acquire: true, Gen: c.gen}
}

// Postpone makes the first try come later.
func (c *LeaseState) Postpone(at time.Time) {
	c.state, c.due = leaseRefused, at
}

// Release gives back what is held or may come to be; ok is false when that is nothing.
func (c *LeaseState) Release() (op LeaseOp, ok bool) {
	op, ok = LeaseOp{Gen: c.gen}, c.state == leaseAsked || c.state == leaseHeld
	c.rest(leaseNone)
	return op, ok
}

// granted reports whether the answer is the one that is awaited.
func (c *LeaseState) granted(gen uint64) bool {
	if c.state != leaseAsked || gen != c.gen {
		return false
	}
	c.rest(leaseHeld)
	return true
}

// rest is a state in which nothing is waited for.
func (c *LeaseState) rest(s leaseStep) {
	c.state, c.due, c.tries, c.said = s, time.Time{}, 0, false
}

// refused likewise. The next try comes after an eighth of the interval, then after twice as long
// each time, up to the interval: the holder of the lease may be about to give it back.
func (c *LeaseState) refused(gen uint64, now time.Time, interval time.Duration) bool {
	if c.state != leaseAsked || gen != c.gen {
		return false
	}
	c.state, c.due = leaseRefused, now.Add(timer.Backoff(interval/8, interval, c.tries))
	c.tries++
	return true
}

// lost reports whether what was held is not held any more.
func (c *LeaseState) lost(gen uint64) bool {
	if c.state != leaseHeld || gen != c.gen {
		return false
	}
	c.state = leaseNone
	return true
}

// Heard is what an answer of the store comes to.
type Heard uint8

// What an answer comes to. The zero value says nothing.
const (
	HeardLate Heard = iota // it is about an earlier acquisition, or nothing is awaited
	HeardGranted
	HeardRefused
	HeardLost
)

// Hear takes LeaseGranted, LeaseRefused or LeaseLost, and says what follows, with the store's
// words.
func (c *LeaseState) Hear(in any, now time.Time, interval time.Duration) (what Heard, text string) {
	switch in := in.(type) {
	case LeaseGranted:
		if c.granted(in.Gen) {
			return HeardGranted, ""
		}
	case LeaseRefused:
		if c.refused(in.Gen, now, interval) {
			return HeardRefused, in.Text
		}
	case LeaseLost:
		if c.refused(in.Gen, now, interval) { // the loss is heard of before the grant
			return HeardRefused, in.Text
		}
		if c.lost(in.Gen) {
			return HeardLost, in.Text
		}
	}
	return HeardLate, ""
}

// Advance does what is due: another try, or, as the present one takes long, nothing but to say so;
// then try is false.
func (c *LeaseState) Advance(now time.Time, interval time.Duration) (op LeaseOp, try bool) {
	if c.state == leaseRefused {
		return c.Acquire(now, interval), true
	}
	c.due = time.Time{}
	return LeaseOp{}, false
}

// Overdue reports whether something is due: a try, or to say that the present one takes long.
func (c *LeaseState) Overdue(now time.Time) bool { return !c.due.IsZero() && !now.Before(c.due) }

// AnnounceWaiting says, once, that the lease is waited for.
func (c *LeaseState) AnnounceWaiting() bool {
	first := !c.said
	c.said = true
	return first
}
