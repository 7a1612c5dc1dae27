package counts

import (
	"github.com/coterie-go/coterie/proptest/sim/delivered"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/leases"
	"github.com/coterie-go/coterie/proptest/sim/ledgers"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/persisted"
	"github.com/coterie-go/coterie/proptest/sim/reminded"
	"github.com/coterie-go/coterie/proptest/sim/sequence"
	"github.com/coterie-go/coterie/proptest/sim/stall"
)

// Counts say what a run really did, so that a quiet run is not taken for a good one.
type Counts struct {
	Views, Crashes, Restarts, Pauses, Halts, Cuts, Flaps, Leaves, Joins uint64
	Writes, Acked, Reads, Linear                                        uint64
	Held                                                                uint64 // writes that waited for replicas
	Sent, Delivered, Lost                                               uint64
	Tells, Told, HandOffs, Starts                                       uint64
	Swept, Expired, Folded, Deleted                                     uint64
	Bulk, Parts                                                         uint64
	Leased, LeasesLost                                                  uint64
	Closings, Returned, TypesClosed, TypesLate, TypesLacked, Stops      uint64
	Consulted, Located, Evicted                                         uint64
	Answered, Dropped                                                   uint64
	Idled, Stopped, Forgotten, Rested                                   uint64
	Retired, Outdated, Restored                                         uint64 // incarnations, disks
	ClockRows                                                           uint64 // the most of a clock, where they retire
	CountItems                                                          uint64 // and of a counter in a durable key
	LevelsRaised, BuildsRefused                                         uint64
	LeaseStages                                                         uint64 // rolling restarts that changed leases
	Faults                                                              Faults // of chaos
	disks.Counts
	Excused   history.Excuses  // writes that may be missing
	Late      sequence.Excuses // messages that an entity handled out of order
	Longest   stall.Waits      // of healed worlds
	Persisted persisted.Counts
	Reminded  reminded.Counts
	Producers delivered.Counts
	Ledgers   ledgers.Counts
}

// Faults counts what chaos has done, by kind.
type Faults [options.FaultKinds]uint64

// Add sums the counts of runs.
func (c *Counts) Add(o Counts) {
	for f, n := range o.Faults {
		c.Faults[f] += n
	}
	c.Views += o.Views
	c.Crashes += o.Crashes
	c.Restarts += o.Restarts
	c.Pauses += o.Pauses
	c.Halts += o.Halts
	c.Cuts += o.Cuts
	c.Flaps += o.Flaps
	c.Leaves += o.Leaves
	c.Joins += o.Joins
	c.Writes += o.Writes
	c.Acked += o.Acked
	c.Reads += o.Reads
	c.Linear += o.Linear
	c.Held += o.Held
	c.Excused.Add(o.Excused)
	c.Sent += o.Sent
	c.Delivered += o.Delivered
	c.Lost += o.Lost
	c.Tells += o.Tells
	c.Told += o.Told
	c.HandOffs += o.HandOffs
	c.Starts += o.Starts
	c.Swept += o.Swept
	c.Expired += o.Expired
	c.Folded += o.Folded
	c.Deleted += o.Deleted
	c.Bulk += o.Bulk
	c.Parts += o.Parts
	c.Leased += o.Leased
	c.LeasesLost += o.LeasesLost
	c.Closings += o.Closings
	c.Stops += o.Stops
	c.TypesClosed += o.TypesClosed
	c.TypesLate += o.TypesLate
	c.TypesLacked += o.TypesLacked
	c.Returned += o.Returned
	c.Consulted += o.Consulted
	c.Located += o.Located
	c.Evicted += o.Evicted
	c.Answered += o.Answered
	c.Dropped += o.Dropped
	c.Idled += o.Idled
	c.Stopped += o.Stopped
	c.Forgotten += o.Forgotten
	c.Rested += o.Rested
	c.Retired += o.Retired
	c.ClockRows = max(c.ClockRows, o.ClockRows)
	c.CountItems = max(c.CountItems, o.CountItems)
	c.Outdated += o.Outdated
	c.Restored += o.Restored
	c.LevelsRaised += o.LevelsRaised
	c.LeaseStages += o.LeaseStages
	c.BuildsRefused += o.BuildsRefused
	c.Store(o.Counts)
	c.Late.Add(o.Late)
	c.Longest.Add(o.Longest)
	c.Persisted.Add(o.Persisted)
	c.Reminded.Add(o.Reminded)
	c.Producers.Add(o.Producers)
	c.Ledgers.Add(o.Ledgers)
}

// Carry counts what a network has done.
func (c *Counts) Carry(t network.Traffic) {
	c.Sent += t.Sent
	c.Delivered += t.Delivered
	c.Lost += t.Lost
	c.Cuts += t.Cuts
	c.Flaps += t.Flaps
}

// Lease counts what a store of leases has given.
func (c *Counts) Lease(s leases.Counts) {
	c.Leased += s.Leased
	c.LeasesLost += s.Lost
}

// Store counts what disks have met.
func (c *Counts) Store(d disks.Counts) {
	c.Torn += d.Torn
	c.TableFaults += d.TableFaults
	c.ReadFaults += d.ReadFaults
	c.Lies += d.Lies
	c.Tears += d.Tears
	c.Wipes += d.Wipes
}
