// Package journals is the store in which simulated entities keep their state, as the processes see
// it across a network that fails.
//
// # Nouns
//
//   - The Store is one for all processes. What it holds is a persistence/memory.Store.
//   - A Door is the Store as one process uses it: a journal, snapshots and states at once.
//   - The Faults say how often the Store misbehaves. A Watcher sees what takes effect in it.
//
// # What happens to a call
//
// It travels to the Store and takes effect there at one moment, while its process may stand still or
// has ended. The answer travels back. On the way
//
//   - it fails before it takes effect, or its answer is an error although it did;
//   - a call of several writes is carried out in part, and its answer is an error;
//   - no answer comes: the call ends with its context, and takes effect late or never;
//   - it does not end with its context, as the port asks for, but long after;
//   - its process stands still for long as it arrives, so that another one may take its shards;
//   - the Store is gone for a while, for all or for some processes;
//   - a snapshot that was stored is damaged, or is lost.
//
// # Guarantees
//
// Once the world has healed, calls take the time that they take, and none fails. The laws of package
// persistence hold, except what is planted.
package journals
