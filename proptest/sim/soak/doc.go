// Package soak plays simulated worlds for a given time, on all cores.
//
// # Nouns
//
//   - A Soak says from which seed on it plays, for how long, and which plans take turns.
//   - A tally is what was played so far: seeds, events, and how often each kind of fault, each
//     scenario and each plan came up.
//
// # Guarantees
//
//   - Seeds are played in their order, each in the next plan. A Soak that begins at the same seed plays
//     the same worlds.
//   - It prints one line every ten seconds, and at the end what was played how often, and what never.
//   - The first violation ends it. It prints the violation, the command that replays the world with as
//     few faults as still show it, and the last part of that world's story.
//   - Its memory does not grow: of a world that is over, only sums are kept.
//
// # Not guaranteed
//
//   - Worlds that have begun are played to their end, so that a Soak takes some seconds longer than
//     it was asked for.
//   - A fault counts when chaos draws it. A crash of a slot on which nothing runs counts, too.
package soak
