package stall

import (
	"cmp"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/sharding"
)

// Kind is one kind of waiting that ends in a healed world.
type Kind uint8

// The kinds.
const (
	ForView      Kind = iota // all that run have one view, and are Up in it
	ForLease                 // a process acts as the coordinator
	ForOperation             // each process writes to a majority and reads it back
	ForReplicas              // all replicas hold the same
	ForHome                  // each shard with traffic has one home
	ForMessages              // each message was handled or reported
	ForState                 // each entity that keeps its state has answered each process
	// Kinds is how many there are.
	Kinds
)

var kindNames = [Kinds]string{"view", "lease", "operation", "replicas", "home", "messages", "state"}

func (k Kind) String() string { return kindNames[k] }

// Times by which the simulator's clients, supervisors and replicators act.
const (
	RestartMost   = 5 * time.Second  // until a process that has ended is started again
	AfterHeal     = 4 * time.Second  // how long clients go on once the world is whole
	ProbeGap      = 3 * time.Second  // between two rounds of probes
	ProbeShards   = 10 * time.Second // after the clients have ended, until entities are probed
	AskState      = 20 * time.Second // a question to an entity that keeps its state
	BackoffMost   = 2 * time.Second  // until an entity that keeps its state starts again
	gossipEach    = time.Second      // replicas compare each other, one at a time
	operationMost = 5 * time.Second  // the replicator's default
)

// slow is a time by the slowest clock.
func slow(d time.Duration) time.Duration { return d + d*3/100 }

// limitsOf returns the longest waits that the settings of a world allow, from the moment from which
// nothing breaks any more and no operator acts.
func limitsOf(o *options.Options) (most [Kinds]time.Duration) {
	most[ForView] = viewMost(o)
	// the coordinator's node waits at most for one lease that was granted before, and starts the type
	most[ForLease] = most[ForView] + slow(o.Times().LeaseDuration) + o.LateTypes
	// the clients' load ends, a round of probes comes, and writes and reads
	operation := cmp.Or(o.Timeout, operationMost)
	most[ForOperation] = most[ForLease] + AfterHeal + ProbeGap + slow(2*operation) + 2*o.WriteBehind
	most[ForReplicas] = most[ForOperation] + slow(time.Duration(o.Nodes+o.Spare)*gossipEach)
	// entities are probed, a hand-off ends, and the next home takes its lease
	most[ForHome] = most[ForLease] + ProbeShards + ProbeGap + slow(handOffMost(o)+o.LeaseTTL+2*o.LeaseRetry) +
		ledgerMost(o)
	// what was sent meets one more hand-off, for balance
	most[ForMessages] = most[ForHome] + slow(handOffMost(o))
	most[ForState] = most[ForHome] + stateMost(o)
	return most
}

// viewMost: each node that cannot go on gives up, is started again and locks itself to a founding.
// The founding waits until what was granted has run out. Then the dead are dropped, and the others
// join, one decision after the other. All of it is by the slowest clock.
func viewMost(o *options.Options) time.Duration {
	c, nodes := o.Times(), time.Duration(o.Nodes+o.Spare)
	drop := c.UnreachableAfter + c.StableAfter + c.LeaseDuration
	found := c.SelfDownAfter + RestartMost + c.BootstrapTimeout + c.LeaseDuration
	return slow(found + drop + 2*nodes*c.HeartbeatInterval)
}

// handOffMost: the fences come within three times the time that an entity has to stop, what the shard
// has to do ends within five times that, and an entity that hangs is stopped by force.
func handOffMost(o *options.Options) time.Duration {
	return 3*o.StopTimeout + 5*o.StopTimeout + o.StopTimeout
}

// ledgerMost: what is asked again of the journal of homes and ids takes a few calls. Where calls hang,
// one of before may never be answered: it ends after its time, which is the longer the more calls in a
// row have failed, and longest for a write of ids, or long after that.
func ledgerMost(o *options.Options) time.Duration {
	if !o.Ledger.Used {
		return 0
	}
	const calls, longest = 8, 32
	f := &o.Ledger.Store
	most := calls * 2 * f.Delay
	if f.Hangs+f.Deaf > 0 {
		q := sharding.Quorums{}.WithDefaults()
		most += slow(longest*max(q.ReadTimeout, q.WriteTimeout) + journals.DeafMost)
	}
	return most
}

// stateMost: calls of the store that were under way end. A question that met them, or a hand-off, has no
// answer, and is asked again. An entity that was written to late starts again once more. Then each
// process asks one entity after the other: each recovers and stores, as may others that are written
// at the same time.
func stateMost(o *options.Options) time.Duration {
	p := &o.Persisted
	const calls, types = 6, 2 // of one question: a fence, two reads, a write, a snapshot and what it replaces
	call := 2*p.Store.Delay + p.Calls.Linger
	questions := time.Duration(types * p.Entities * (o.Nodes + o.Spare))
	return slow(max(journals.DeafMost, p.Calls.GiveUpAfter)+2*AskState+BackoffMost) + questions*calls*call
}
