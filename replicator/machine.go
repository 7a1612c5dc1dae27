package replicator

import (
	"iter"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// Loaded is what the rows of the durable space held at start; the zero value is an empty disk.
type Loaded struct {
	Clock  *crdt.Clock
	Digest crdt.Digest
	Items  iter.Seq[crdt.Item]
}

// Machine is one Replicator.
type Machine struct {
	cfg Config
	eff Effects
}

// New makes a machine without a view. It fails when the config is wrong, or when the rows do not belong together.
func New(cfg Config, rng *rand.Rand, loaded Loaded) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Machine{cfg: cfg.withDefaults()}, nil
}

// Step takes one input and returns what to do. The Effects are valid until the next Step.
func (m *Machine) Step(now time.Time, in Input) *Effects { return &m.eff }

// Deadline is when to step a Tick at the latest; zero: never.
func (m *Machine) Deadline() time.Time { return time.Time{} }

// Snapshot returns the state of a space at this moment; any number of goroutines may read it.
func (m *Machine) Snapshot(s Space) *crdt.Snapshot { return nil }

// SpaceOf says in which space a key lives.
func (m *Machine) SpaceOf(key string) Space { return Volatile }

// CaughtUp says whether this replica may serve, ack and donate.
func (m *Machine) CaughtUp() bool { return false }

// Settled returns the newest epoch whose view is settled in both spaces.
func (m *Machine) Settled() uint64 { return 0 }

// Stats returns the counters.
func (m *Machine) Stats() Stats { return Stats{} }

// Check returns the first broken invariant, for tests and the simulator.
func (m *Machine) Check() error { return nil }

// String prints the state on a few lines.
func (m *Machine) String() string { return "" }
