package protocol

import (
	"math/rand/v2"
	"time"
)

// Shard is one of the three machines.
type Shard struct {
	cfg Config
	rng *rand.Rand
	fx  ShardEffects
}

// NewShard makes the machine.
func NewShard(cfg Config, rng *rand.Rand, shard ShardID) (*Shard, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Shard{cfg: cfg.withDefaults(), rng: rng}, nil
}

// Step feeds one input.
func (m *Shard) Step(now time.Time, in ShardInput) *ShardEffects {
	m.fx = ShardEffects{}
	return &m.fx
}

// Deadline is when the machine wants a Tick; the zero time means never.
func (m *Shard) Deadline() time.Time { return time.Time{} }

// Check reports a broken invariant.
func (m *Shard) Check() error { return nil }

// Stats are the named counters, in a fixed order.
func (m *Shard) Stats() []Counter { return nil }

// String prints the state.
func (m *Shard) String() string { return "" }
