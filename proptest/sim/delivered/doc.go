// Package delivered has producers deliver messages to entities in a simulated world, over the real
// machines and drivers of package sharding/delivery, and judges what becomes of them.
//
// # Nouns
//
//   - The Judge sees each step of the consumers, what producers' callers were told, and what queues
//     remove. It serves the worlds of users (package simtest), too.
//   - Queues are what producers keep outside of their process. They survive it, fail, and have what was
//     under way when the process ended taken effect or not.
//   - The Entities are those of a world: their type on each process, with a producer there, and the
//     clients of the producers. A Note is what they send.
//
// # What is judged
//
//   - A handler is given nothing before all that its producer has sent under the session before it was
//     handled, by some incarnation of the entity.
//   - One incarnation is given the messages of a producer in order, one at a time, and none again that
//     it has handled.
//   - A number stays with its message, also when the producer has come back with its queue.
//   - A caller is told of a confirmation only when so many equal messages were handled, and a queue
//     removes only what was handled.
//   - In the healed world all is confirmed that producers hold which live or have come back. What a queue
//     has is handled.
//
// # Not judged
//
// Messages of one incarnation to which more than ConsumerConfig.ProducersMax producers send: an entity that
// forgets a producer handles again what that sends again. No world has so many.
package delivered
