package protocol

import (
	"math/rand/v2"
	"time"
)

// Region is one of the three machines.
type Region struct {
	cfg Config
	rng *rand.Rand
	fx  RegionEffects
}

// NewRegion makes the machine.
func NewRegion(cfg Config, rng *rand.Rand) (*Region, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Region{cfg: cfg.withDefaults(), rng: rng}, nil
}

// Step feeds one input.
func (m *Region) Step(now time.Time, in RegionInput) *RegionEffects {
	m.fx = RegionEffects{}
	return &m.fx
}

// Deadline is when the machine wants a Tick; the zero time means never.
func (m *Region) Deadline() time.Time { return time.Time{} }

// Check reports a broken invariant.
func (m *Region) Check() error { return nil }

// Stats are the named counters, in a fixed order.
func (m *Region) Stats() []Counter { return nil }

// String prints the state.
func (m *Region) String() string { return "" }
