package membership

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Machine decides, together with those of the other nodes, who is in, who is oldest and who may run.
type Machine struct {
	cfg   Config
	rng   *rand.Rand
	fx    Effects
	stats Stats
	view  *View
	lease Lease
}

// New returns a machine that knows nothing but its configuration and the record that the last incarnation on this
// disk persisted (nil = none). Step it with Tick to start it.
func New(cfg Config, rng *rand.Rand, loaded []byte) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("membership: configuration: %w", err)
	}
	cfg.setDefaults()
	return &Machine{cfg: cfg, rng: rng}, nil
}

// Step takes one input. The effects are valid until the next Step.
func (m *Machine) Step(now time.Time, in Input) *Effects {
	m.fx.reset()
	m.stats.Steps++
	return &m.fx
}

// Deadline is when to step Tick at the latest; zero = never.
func (m *Machine) Deadline() time.Time { return time.Time{} }

// View is the installed view, nil before the first. It is immutable.
func (m *Machine) View() *View { return m.view }

// Lease is the permission of this moment. The driver publishes it after each Step, before it carries out the effects.
func (m *Machine) Lease() Lease { return m.lease }

// Reachable says whether this node hears the member.
func (m *Machine) Reachable(u UID) bool { return false }

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// Check verifies all invariants.
func (m *Machine) Check() error { return nil }

// String prints the state in one line.
func (m *Machine) String() string { return fmt.Sprintf("%v %v %v", m.cfg.UID, m.view, m.lease) }
