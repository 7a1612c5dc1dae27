package delivery

import "errors"

var (
	// ErrConfig: a Config or a ConsumerConfig is incomplete or out of bounds. The message lists
	// every fault.
	ErrConfig = errors.New("delivery: invalid configuration")
	// ErrQueue: the durable queue could not be read when the producer was made, or a message could
	// not be stored: it will not be delivered.
	ErrQueue = errors.New("delivery: durable queue")
	// ErrBufferFull: the producer had no room until the context ended. Usual cause: entities that
	// do not confirm. The message was not taken.
	ErrBufferFull = errors.New("delivery: buffer full")
	// ErrUnconfirmed: the context ended before the entity had confirmed. The producer goes on
	// trying. When it is never confirmed, look whether the type's New goes through Consume.
	ErrUnconfirmed = errors.New("delivery: not confirmed in time")
	// ErrSuperseded: an entity knows a later producer of this ID. Usual cause: two processes with
	// one ID, or a clock that was set back. This producer delivers nothing any more; whether what
	// it held was delivered is unknown.
	ErrSuperseded = errors.New("delivery: a later producer has this ID")
	// ErrClosed: the producer was closed, or its region has stopped. What was not confirmed is
	// lost, if it is in no durable queue.
	ErrClosed = errors.New("delivery: producer closed")
	// ErrBroken: the producer has panicked, and has ended; the event ProducerBroken, and the log,
	// have its stack. It is a defect. A new producer with the same ID, and Queue if it had one,
	// goes on.
	ErrBroken = errors.New("delivery: producer is broken")
	// ErrConfirmed: Confirm or Reject was called a second time.
	ErrConfirmed = errors.New("delivery: already confirmed or rejected")
)
