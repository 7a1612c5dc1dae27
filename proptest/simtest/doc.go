// Package simtest runs users' entity types in the simulated cluster: the real machines and drivers of
// this library in virtual time, over a network, disks and stores that fail as a seed wants.
//
// # Nouns
//
// An [Entity] says how a service makes its type on a [Node], which operations ([Op]) clients carry out,
// and what a single entity must answer: the Model. A trial is one world: operations and faults, each at
// its time. Its history of each entity goes to a checker of linearizability (porcupine): there must be an
// order of all operations, in which each stands between its beginning and its answer, that explains all
// answers by the Model. An operation without an answer may stand anywhere after its beginning, and need
// not have taken effect. The examples show an entity, a [Singleton], and a data type ([Data]).
//
// An operation may be one that a producer delivers ([Deliver], package sharding/delivery): each node has a
// producer then, which in half of the worlds has a queue that survives its node. To the Model a delivered
// message happens once, between its beginning and its confirmation; what comes to a later incarnation again
// must have no effect, unless Entity.Repeats allows for it. Handlers are watched too: they are given all
// that a producer has sent, in order, and nothing again that their incarnation has handled. What is
// confirmed, or leaves a queue, was handled. In the end all is confirmed that producers hold.
//
// A [Singleton] is what runs on one node at a time: the real driver (package ddata/singletons) runs the
// user's Run on each node. Two runs never have nodes that hold their leases at one instant, looked at when
// one begins and each 50 ms; tokens rise; a run is under way in the end, or has ended by itself. What runs
// write outside is the user's Invariant, which is asked after each [Node.Call].
//
// # What happens in a world
//
// Nodes crash and start again, stand still as after SIGSTOP, leave in order and come back, are cut off,
// and have disks that stall. They stand still in the middle of a call to a store until another node has
// taken over. Stores are not reached, fail, and lose answers. Shards are handed off with all that. In the
// end all is well, and each entity must answer a last question.
//
// # Guarantees
//
//   - One trial has one story. What rapid draws decides about everything: its seed, its failure files and
//     its fuzz targets play a trial again.
//   - A failure of Check is made small twice: by rapid, and by leaving out each step without which the same promise
//     is broken.
//   - All checkers of the simulator are on: an entity type, its allocation strategy or its passivation
//     that breaks a promise of the library is found, too.
//
// # Not guaranteed
//
//   - What a handler does beside its Context and its Node is not simulated. A handler that waits for the
//     clock of the machine, or for a goroutine, stops the world meanwhile: after a minute or two the process ends
//     and tells where it waits. One that reads the time from package time, or variables that worlds share,
//     makes the story differ from run to run: that is told only of a trial that fails.
//   - A handler must start no goroutine that calls back, by a Responder, an EntityRef or a Region: it would run beside
//     the world. Where that is noticed the process panics, with the stack of the goroutine.
//   - Entities that keep nothing forget what they knew when they move. Their Model must allow that, which
//     one that is linearizable cannot: test such types for what survives.
//   - A history for which the checker finds no verdict in ten seconds passes, and is told (go test -v).
//     Many operations at one time, on one entity, without answers, make that likely.
//   - What a producer without a queue holds is lost with its node, and the history has an operation without
//     an answer. Producers have no Config of the user's, nor a Queue of the user's own.
//   - A Run that waits by something else than its Node stops the world, as a handler does. What it does
//     outside without Node.Call happens at once, and meets no failure.
//   - That no failure was found says nothing of the worlds that were not played.
package simtest
