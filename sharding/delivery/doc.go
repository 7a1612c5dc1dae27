// Package delivery makes messages to entities arrive: numbered, confirmed by the entity's handler,
// sent again until they are.
//
// # Nouns
//
//   - A Producer, one per ID, sends to the entities of one region. Send returns when it has the
//     message, Deliver when the entity has confirmed it, Flush when all are.
//   - Consume makes an entity type take what producers deliver, beside what is told and asked. A
//     handler that returns nil confirms; an entity that is a Receiver may do so Later.
//   - A Queue keeps what was not confirmed over restarts of the producer's process. MemoryQueue and
//     TableQueue are two; any store can be one.
//
// The decisions are made by the pure machines in sharding/delivery/protocol, whose comment tells
// how they work. A producer has two goroutines however many entities it sends to; a consumer has
// none, and no timer.
//
// # Guarantees
//
//   - Within one incarnation of an entity, the messages of a producer are handled in the order in
//     which they were sent, none left out, and each confirmed once: effectively once.
//   - Over incarnations (hand-off, passivation, a crash of the handler or of its node) each message
//     is handled at least once. The producer must live, or come back with its Queue. A producer
//     that comes back goes on under its old numbers, so an incarnation that lives on handles
//     nothing twice.
//   - What a Queue has failed to store is not sent.
//   - A Queue that panics has failed to store. A producer whose own machine panics, which is a
//     defect, ends by itself: its callers get ErrBroken, the node goes on, and the event
//     ProducerBroken tells of it.
//   - Everything is bounded: messages by Config.BufferMax and BufferBytes, of one entity by
//     ConsumerConfig.Window, what waits in an entity by ConsumerConfig.BufferMax, what either side
//     remembers by ChannelsMax and ProducersMax. Callers wait for room, until their context ends.
//
// # Not guaranteed
//
//   - Once over incarnations: what was handled just before the end of one, and not yet heard of, is
//     handled again by the next. An entity that needs more keeps Delivery.Session and Seq of the
//     last message together with the state that it has changed.
//   - Once within one incarnation for a producer that the entity had to forget, because more than
//     ConsumerConfig.ProducersMax sent to it: what that producer sends again is handled again.
//   - Anything for what a producer without a Queue had not heard confirmed when its process died.
//   - Order between two producers, two entities, or what is delivered and what is told.
//   - Progress behind a message whose handler always fails: it is tried again, after up to
//     Config.ResendFirst, without end.
//   - Messages that are larger than what the transport takes: Config.MessageMax bounds them, and
//     nothing is cut up here.
//   - Clocks set back: a producer that is started again without a Queue is known as the later one
//     by its clock; see ErrSuperseded.
//
// The file design.md has a table of the metrics.
package delivery
