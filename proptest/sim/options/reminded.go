package options

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
)

// Remind is the name of the plan whose worlds are about reminders. They are as small as those of
// Persist, with a store of reminders that misbehaves.
const Remind = "remind"

// Reminded are entities that set reminders.
type Reminded struct {
	Entities    int // 0: this world has none
	Shards      int
	Gap         time.Duration // mean time between two commands of all clients together
	Ahead       time.Duration // the longest time for which a reminder is set
	Every       time.Duration // the period of one that repeats
	Repeats     float64       // part of the reminders that come again and again
	Cancels     float64       // part of the commands that takes one away
	Refuses     float64       // part of the handlers that fail
	Lingers     float64       // part of the entities that stop later than a hand-off waits for
	Reshards    float64       // part of the stops of all processes after which the type has other shards
	FiringMax   int
	IdleTimeout time.Duration // 0: none is passivated as idle
	Directive   sharding.Directive
	Store       journals.Faults
}

// String prints what there is of them, if there is something.
func (r Reminded) String() string {
	if r.Entities == 0 {
		return ""
	}
	type plain Reminded // it has no String
	return fmt.Sprintf(" reminded=%+v", plain(r))
}

// withoutJournal is what a world of the plan Remind plays of a scenario: another one in place of one
// that is about journals, of which it has none. The draws stay as they are, so that other seeds play what
// they did.
func withoutJournal(scenario string) string {
	switch scenario {
	case Deposed:
		return RollingRestarts
	case TwoCoordinators:
		return RollingMoves
	}
	return scenario
}

// drawRemind draws a world of the plan Remind.
func drawRemind(rs random.Streams, plan Plan) Options {
	o := drawCluster(rs, plan)
	r := rs.Stream("remind", 0)
	o.Swarm = Remind
	o.Reminded = Reminded{
		Entities: random.Pick(r, 2, 6, 20), Shards: random.Pick(r, 2, 4),
		Gap:   random.Pick(r, 50*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond),
		Ahead: random.Pick(r, 500*time.Millisecond, 5*time.Second, 30*time.Second),
		Every: random.Pick(r, 500*time.Millisecond, 3*time.Second), Repeats: random.Pick(r, 0, 0.1, 0.5),
		Cancels: random.Pick(r, 0.1, 0.4), Refuses: random.Pick(r, 0, 0, 0.05, 0.3),
		FiringMax: random.Pick(r, 1, 4, 256), IdleTimeout: random.Pick(r, 0, 100*time.Millisecond, time.Second),
		Directive: random.Pick(r, sharding.Restart, sharding.Stop, sharding.Resume),
		Store: journals.Faults{
			Fails: random.Pick(r, 0, 0.02, 0.1), Loses: random.Pick(r, 0, 0.02, 0.1),
			Halves: random.Pick(r, 0, 0.02), Hangs: random.Pick(r, 0, 0.01, 0.03), Outages: r.IntN(3) == 0,
			Delay: random.Pick(r, time.Millisecond, 5*time.Millisecond, 20*time.Millisecond),
		},
	}
	o.Reminded.Reshards = random.Pick(r, 0, 0.5, 1)
	if o.Scenario == CrowdedMoves { // no drawn world has that: others play what they did
		o.Reminded.Lingers = 0.3
	}
	if o.Scenario == Stops || o.Scenario == Closings { // which wait for what is in the mailboxes, and must end soon
		o.Reminded.Store.Hangs, o.Reminded.Store.Outages = 0, false
	}
	return o
}
