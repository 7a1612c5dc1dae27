package report

import "strings"

// Flags say what a member reports of itself in heartbeats.
type Flags uint8

// The flags of a heartbeat.
const (
	Leaving  Flags = 1 << iota // wants to leave
	Stopped                    // has stopped for good
	CaughtUp                   // its replicators have caught up
	Frozen                     // has accepted a proposal for the next epoch
	Arbiter                    // speaks for the arbiter
	Closing                    // wants the whole cluster to shut down, or has heard of it
	Parting                    // all that vote have stopped: ends as soon as this is answered, by Learned
	All      = Leaving | Stopped | CaughtUp | Frozen | Arbiter | Closing | Parting
)

// forGood are those that no later heartbeat takes back.
const forGood = Leaving | Stopped | Parting

// String lists the flags.
func (f Flags) String() string {
	var s []string
	for i, name := range []string{"leaving", "stopped", "caught-up", "frozen", "arbiter", "closing", "parting"} {
		if f&(1<<i) != 0 {
			s = append(s, name)
		}
	}
	return strings.Join(s, ",")
}
