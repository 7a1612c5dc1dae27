// Package persisted has entities that keep their state, in a simulated world: the real ones of
// packages eventsourced and durablestate, over the store of package journals, with clients.
//
// # Nouns
//
//   - A Command is what an entity is sent. An Add stores records, a Look does not.
//   - The World is where this takes place, a Process a node in it.
//   - The Entities are those of a world: their types on each process, their clients, and the judge
//     of what became of them.
//
// # How it runs
//
// Until some seconds after the world has healed, clients tell and ask entities through any process.
// Then each process asks each entity until it has answered. In the end what the store has is read once
// more, and compared with all that took effect in it.
package persisted
