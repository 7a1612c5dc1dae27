package delivery

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// Config says how a Producer behaves. A zero field stands for its default; ID has none. Names and
// defaults are those of the reliable-delivery settings of the reference where it has one. Four of
// its settings have no meaning here:
//
//   - internal-ask-timeout: nothing is asked inside.
//   - request-timeout and retry-attempts of the durable queue: a Queue answers, and its failure
//     goes to the caller at once.
//   - resend-first-interval of the durable queue: what a queue holds is sent when the producer
//     starts.
type Config struct {
	// ID names the producer, 1 to 128 bytes. No two that run at a time may have the same; one that
	// is started again should have its old one. Required.
	ID string
	// Queue keeps what was not confirmed over restarts of the process: Send returns when a message
	// is stored. A new Queue value per producer. Default: none.
	Queue Queue
	// BufferMax is how many messages may be unconfirmed, over all entities. Past it Send waits.
	// Default 1000.
	BufferMax int
	// BufferBytes bounds the same by size, as encoded; a single message always has room. Default 64
	// MiB.
	BufferBytes int
	// MessageMax is the largest message in bytes, as encoded; it must fit into what the node's
	// transport takes. Default 1 MiB.
	MessageMax int
	// ResendFirst is the idle time-out after which the first unconfirmed message to an entity is
	// sent again: how long it takes until a loss that nothing else shows is mended. The death of
	// the entity's node, and a move of its shard, show: then it is sent again at once. What finds
	// no room in a connection, and what a handler fails at, is tried again after a hundredth of it,
	// doubled each time up to it. Lower means more traffic to entities that are slow. Default 10 s,
	// at least 1 ms.
	ResendFirst time.Duration
	// CleanupUnusedAfter is the time after which an entity of which nothing is unconfirmed is
	// forgotten. Default 120 s.
	CleanupUnusedAfter time.Duration
	// ChannelsMax is how many such entities are remembered; the one that was idle for longest goes
	// first. Default 100,000.
	ChannelsMax int
	// StoreRetry: what was confirmed is removed from the Queue together with the next message that
	// is stored, or by itself after this time; after a failure of the Queue removals wait for as
	// long. Default 1 s.
	StoreRetry time.Duration
}

// ConsumerConfig says how an entity takes what is delivered; its zero value stands for the
// defaults. Window is the reference's flow-control-window.
type ConsumerConfig = protocol.ConsumerConfig

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c Config) WithDefaults() Config {
	config.Default(&c.BufferMax, 1000)
	config.Default(&c.BufferBytes, 64<<20)
	config.Default(&c.MessageMax, 1<<20)
	return c
}

// machine is the configuration of the producing machine.
func (c Config) machine(origin, generation uint64) protocol.ProducerConfig {
	return protocol.ProducerConfig{
		ID: c.ID, Origin: origin, Generation: generation, Durable: c.Queue != nil, BufferMax: c.BufferMax,
		ChannelsMax: c.ChannelsMax,
		ResendFirst: c.ResendFirst, CleanupUnused: c.CleanupUnusedAfter, StoreRetry: c.StoreRetry,
	}
}

// Validate reports every fault together.
func (c Config) Validate() error {
	d := c.WithDefaults()
	var f config.Faults
	f.Of("", d.machine(0, 1).Validate())
	f.Add(d.BufferBytes < 0, "BufferBytes", "%d is negative", d.BufferBytes)
	f.Add(d.MessageMax < 0, "MessageMax", "%d is negative", d.MessageMax)
	return f.Wrap(fmt.Errorf("%w: producer %q", ErrConfig, c.ID))
}
