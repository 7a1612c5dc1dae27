// Package protocol holds the two pure machines of reliable delivery to entities; package
// sharding/delivery drives them.
//
// # Nouns
//
//   - A Producer numbers messages, one sequence per entity, and keeps each until the entity has
//     confirmed it.
//   - A channel is what it knows of one entity. Its Session names it; a channel that was cleaned up
//     and is made again has a higher one.
//   - A Consumer is the other end, one per incarnation of an entity: it hands the messages of each
//     producer on in order and once, and acks.
//   - A Packet carries one message with its number and with the base: everything below was
//     confirmed when it was sent.
//   - An Ack says what was handled, what is expected next, and how large the window is.
//
// # How it works
//
//	producer                                     consumer
//	   │── packet #1, base 1 ───────────────────────►│ unknown: begins at the base. Delivers, the handler confirms
//	   │◄── confirmed 1, expected 2, window 50 ──────│
//	   │── #2 … #51 ────────────────────────────────►│ one at a time, in order; late ones wait
//	   │◄── confirmed 26 ────────────────────────────│ after half a window, and where the last of a burst asks for it
//	   │── #3, while #2 got lost ───────────────────►│ drops it
//	   │◄── gap, expected 2 ─────────────────────────│
//	   │── #2, #3 … in the next round ──────────────►│
//
// There is no timer in a consumer. When a producer has heard nothing for ResendFirst, or hears that
// the entity has Moved, it sends the first unconfirmed message again, and that alone. Gaps are
// answered at once the first time, and after a growing pause when a round has confirmed nothing: so
// a handler that fails is not called in a tight loop.
//
// Everything that an ack confirms was handled by some incarnation, so acks may be late, lost or
// repeated. An incarnation that is new begins at the base of the first packet that it sees; should
// an earlier one have handled more than the producer has heard, it handles that again.
//
// A durable producer has one batch on its way to its queue at a time; a message gets its number
// with its batch, so a failed batch leaves no hole. After a restart it goes on under the old
// sessions and numbers, so that an incarnation that lives on knows again what it has handled.
//
// # Guarantees
//
//   - Within one incarnation of an entity the handler confirms each message of a producer at most
//     once, and in the order in which they were submitted. None is left out, except those that a
//     producer without a queue has taken down with it.
//   - Over incarnations, everything that was accepted is handled at least once. The producer must
//     live or come back with its queue, and the entity must be reachable now and then.
//   - Confirmed means that a handler has confirmed it.
//   - Neither half holds more than its configured bounds.
//
// # Not guaranteed
//
//   - Once over incarnations: what was handled and not heard of is handled again. The same within
//     one incarnation for a producer that was forgotten to make room for another
//     (ConsumerConfig.ProducersMax) and then sends again what it has not heard confirmed.
//   - Order between producers, and between entities.
//   - That a message whose handler always fails makes room for those behind it.
//   - That two processes that use one producer id at a time can both deliver: entities follow the
//     later, and the earlier gives up.
package protocol
