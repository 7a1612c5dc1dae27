package protocol

import "fmt"

// Counter is one named count of a machine.
type Counter struct {
	Name  string
	Count uint64
}

// String prints name=count.
func (c Counter) String() string { return fmt.Sprintf("%s=%d", c.Name, c.Count) }

// Counted is what a machine counts.
type Counted uint8

const (
	CountStale        Counted = iota // commands and reports whose token was overtaken
	CountLate                        // reports about a hand-off that is over
	CountOtherRole                   // reports from a node that has no say in the matter
	CountNotActing                   // messages to a coordinator that does not act, or has no lease
	CountOutOfRange                  // shards beyond the number of shards
	CountNoLease                     // commands to a region without a lease
	CountRetries                     // repetitions of what was not answered
	CountHandOffs                    // hand-offs begun
	CountMoves                       // hand-offs done: the owner has stopped everything
	CountAborts                      // hand-offs aborted
	CountIgnored                     // requests that do not fit the state, such as a second Passivate
	CountStrategy                    // what a strategy did wrong
	CountStateError                  // reads and writes that failed and are repeated
	CountLeaseRefused                // tries to acquire a lease that were in vain
	CountLeaseLost                   // leases that were lost
	CountLookups                     // shards whose home was asked for, each time
	countedEnd
)

var countedNames = [countedEnd]string{
	"stale", "late", "foreign", "not-acting", "out-of-range", "no-lease", "retries", "hand-offs", "moves", "aborts",
	"ignored", "strategy-faults", "state-errors",
	"lease-refused", "lease-lost", "lookups",
}

// Counters are the counts of one machine, by Counted.
type Counters [countedEnd]uint64

// Stats are the named counts, in a fixed order.
func (c *Counters) Stats() []Counter {
	out := make([]Counter, 0, countedEnd)
	for i, n := range c {
		out = append(out, Counter{Name: countedNames[i], Count: n})
	}
	return out
}
