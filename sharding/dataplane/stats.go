package dataplane

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Stats is a snapshot of what a region counts.
type Stats struct {
	Entities int         // active, starting or stopping here
	Active   int         // of these, those that run, or stop
	Limit    int         // on active entities here, 0: none
	Shards   int         // hosted here
	Held     int         // bytes of other nodes' messages in mailboxes, which MailboxBytes and RegionBytes bound
	Buffered int         // messages that wait for a home
	Workers  int         // goroutines that run handlers or are ready to
	Queued   int         // entities with messages that wait for a worker
	Slow     int         // handlers that run for longer than Timeouts.HandlerSlow
	Awaiting int         // of the shards, those that wait for a lease
	Results  int         // entities that wait for results (Context.Await)
	Overdue  int         // of these, those that wait for longer than Timeouts.HandlerSlow
	Asks     int         // questions under way
	Drops    []DropCount // by reason; those that never happened are left out

	// of the type's codecs, hooks (OnEvent, Supervision.Decide, boxes) and stores of leases, which
	// were survived
	Panics       uint64
	AsksTimedOut uint64 // questions whose time was over before an answer came
	Restored     uint64 // entities that were started because they are remembered, and not by a message

	Passivated []PassivationCount // by cause; those that never happened are left out
	LeasesLost uint64             // leases of shards that were lost while they were held
	Forced     uint64             // passivations whose entity did not stop in time, so that it was stopped by force
}

// DropCount is how many messages were lost for one reason.
type DropCount struct {
	Reason failure.DropReason
	Count  uint64
}

// PassivationCount is how many entities were told to stop for one cause.
type PassivationCount struct {
	Cause protocol.Cause
	Count uint64
}

func (p PassivationCount) String() string { return fmt.Sprintf("%v: %d", p.Cause, p.Count) }

func (d DropCount) String() string { return fmt.Sprintf("%v: %d", d.Reason, d.Count) }

// CountStats counts what one region has.
func CountStats(r *Plane) Stats {
	s := Stats{
		Buffered: int(r.Routes.Limit.Count.Load()), Queued: r.Entities.Pool.Queued(),
		Workers: r.Entities.Pool.Workers(),
		Asks:    r.Asks.Open(), AsksTimedOut: r.Asks.Late(), Restored: r.Entities.Restored.Load(),
		Panics: r.Panics.Count(), Held: int(r.Entities.Held.Used()), Slow: r.Entities.Slow.Slow(),
	}
	s.Results, s.Overdue = r.Entities.Waits.Count()
	for _, h := range r.Routes.Shards() {
		s.Shards++
		s.Active += h.Active()
		if r.AwaitsLease(h.Number) != "" {
			s.Awaiting++
		}
		s.Entities += h.Count()
	}
	s.LeasesLost = r.Leases.Lost.Load()
	s.Limit, s.Forced = int(r.Entities.Passivations.Limit.Load()), r.Entities.Passivations.Forced.Load()
	for cause := range r.Entities.Passivations.ByCause {
		if n := r.Entities.Passivations.ByCause[cause].Load(); n > 0 {
			s.Passivated = append(s.Passivated, PassivationCount{protocol.Cause(cause), n})
		}
	}
	for reason, n := range r.Drops.All() {
		if n > 0 {
			s.Drops = append(s.Drops, DropCount{reason, n})
		}
	}
	return s
}
