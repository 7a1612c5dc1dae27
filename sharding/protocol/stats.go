package protocol

import "fmt"

// Counter is one named count of a machine.
type Counter struct {
	Name  string
	Count uint64
}

// String prints name=count.
func (c Counter) String() string { return fmt.Sprintf("%s=%d", c.Name, c.Count) }

// counted is what a machine counts.
type counted uint8

const (
	countStale        counted = iota // commands and reports whose token was overtaken
	countLate                        // reports about a hand-off that is over
	countOtherRole                   // reports from a node that has no say in the matter
	countNotActing                   // messages to a coordinator that does not act, or has no lease
	countOutOfRange                  // shards beyond the number of shards
	countNoLease                     // commands to a region without a lease
	countRetries                     // repetitions of what was not answered
	countHandOffs                    // hand-offs begun
	countMoves                       // hand-offs done: the owner has stopped everything
	countAborts                      // hand-offs aborted
	countIgnored                     // requests that do not fit the state, such as a second Passivate
	countStrategy                    // what a strategy did wrong
	countStateError                  // reads and writes that failed and are repeated
	countLeaseRefused                // tries to acquire a lease that were in vain
	countLeaseLost                   // leases that were lost
	countLookups                     // shards whose home was asked for, each time
	countedEnd
)

var countedNames = [countedEnd]string{
	"stale", "late", "foreign", "not-acting", "out-of-range", "no-lease", "retries", "hand-offs", "moves", "aborts", "ignored", "strategy-faults", "state-errors",
	"lease-refused", "lease-lost", "lookups",
}

type counters [countedEnd]uint64

func (c *counters) stats() []Counter {
	out := make([]Counter, 0, countedEnd)
	for i, n := range c {
		out = append(out, Counter{Name: countedNames[i], Count: n})
	}
	return out
}
