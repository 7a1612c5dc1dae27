// Package reminded has entities that set reminders, in a simulated world: real ones, over a store of
// reminders that misbehaves (package journals), with clients.
//
// # Nouns
//
//   - A Command is what an entity is sent. A Set has it set a reminder, a Cancel take one away. A Fire is
//     what a reminder brings.
//   - The World is where this takes place, a Process a node in it, as in package persisted.
//   - The Entities are those of a world: their type on each process, and their clients.
//   - The Judge knows of every change that a handler has asked for, and of every turn that came.
//
// # What is judged
//
//   - A reminder that is stored comes, unless its entity has replaced it or taken it away: once at least,
//     not before its time by the clock of the node, and in the end without traffic.
//   - Of one that repeats every turn comes, or is counted as missed by the one that comes.
//   - What was replaced or taken away does not come on another node.
//   - A hosting that is over changes no reminder once a later one has called the store: each call has the
//     token of its hosting, and each update a higher number than those of the hosting before it.
//
// In some worlds the type has another number of shards each time that it starts after a stop of all processes. All
// of this holds then, too: reminders go to the shards of their entities.
//
// A change that has failed may or may not take effect, perhaps late, until a later one of the name is
// acknowledged. So the name is in doubt until then. If two processes change a name at one time, it is not
// looked at any more, and the entity takes a new one.
package reminded
