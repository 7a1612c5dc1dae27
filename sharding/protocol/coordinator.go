package protocol

import (
	"math/rand/v2"
	"time"
)

// Coordinator is one of the three machines.
type Coordinator struct {
	cfg Config
	rng *rand.Rand
	fx  CoordinatorEffects
}

// NewCoordinator makes the machine.
func NewCoordinator(cfg Config, rng *rand.Rand) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Coordinator{cfg: cfg.withDefaults(), rng: rng}, nil
}

// Step feeds one input.
func (m *Coordinator) Step(now time.Time, in CoordinatorInput) *CoordinatorEffects {
	m.fx = CoordinatorEffects{}
	return &m.fx
}

// Deadline is when the machine wants a Tick; the zero time means never.
func (m *Coordinator) Deadline() time.Time { return time.Time{} }

// Check reports a broken invariant.
func (m *Coordinator) Check() error { return nil }

// Stats are the named counters, in a fixed order.
func (m *Coordinator) Stats() []Counter { return nil }

// String prints the state.
func (m *Coordinator) String() string { return "" }
