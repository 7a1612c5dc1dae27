package protocol

import (
	"time"

	"github.com/coterie-go/coterie/ddata/config"
)

// ProducerConfig says how a producer behaves. Zero means the default.
type ProducerConfig struct {
	// ID of the producer, 1 to ProducerIDMax bytes; no two that run have the same. Required.
	ID string
	// Origin is the uid of its node.
	Origin uint64
	// Generation of this start, above all earlier ones of the same ID. Required.
	Generation uint64
	// Durable: messages are stored before they are sent.
	Durable bool
	// BufferMax is how many messages are unconfirmed at a time, over all entities. Default 1000.
	BufferMax int
	// ChannelsMax is how many entities are remembered of which nothing is unconfirmed. Past it the
	// one that was idle for longest is cleaned up. Default 100,000.
	ChannelsMax int
	// ResendFirst is the time after which the first unconfirmed message of an entity is sent again,
	// when nothing was heard. What the connection has no room for, and what handlers fail at, is
	// tried again sooner: after a hundredth of it, doubled each time up to it. Default 10 s.
	ResendFirst time.Duration
	// CleanupUnused is the time after which an entity of which nothing is unconfirmed is forgotten.
	// Default 120 s.
	CleanupUnused time.Duration
	// StoreRetry is how long the removal of what was confirmed may wait for a message to store
	// together with it, and the pause after a store that failed. Default 1 s.
	StoreRetry time.Duration
}

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c ProducerConfig) WithDefaults() ProducerConfig {
	config.Default(&c.BufferMax, 1000)
	config.Default(&c.ChannelsMax, 100_000)
	config.Default(&c.ResendFirst, 10*time.Second)
	config.Default(&c.CleanupUnused, 120*time.Second)
	config.Default(&c.StoreRetry, time.Second)
	return c
}

// Validate reports every fault together.
func (c ProducerConfig) Validate() error {
	d := c.WithDefaults()
	var f config.Faults
	f.Add(d.ID == "" || len(d.ID) > ProducerIDMax, "ID", "has %d bytes, want 1 to %d", len(d.ID), ProducerIDMax)
	f.Add(d.Generation == 0, "Generation", "is 0")
	f.Add(d.BufferMax < 1, "BufferMax", "%d is not positive", d.BufferMax)
	f.Add(d.ChannelsMax < 1, "ChannelsMax", "%d is not positive", d.ChannelsMax)
	f.Add(d.ResendFirst < time.Millisecond, "ResendFirst", "%v is below 1 ms", d.ResendFirst)
	f.Add(d.CleanupUnused < 0, "CleanupUnused", "%v is negative", d.CleanupUnused)
	f.Add(d.StoreRetry < 0, "StoreRetry", "%v is negative", d.StoreRetry)
	return f.Err("")
}
