// Package workload is what users run in a simulated world beside what the simulator does itself: the
// ports through which it meets the world, and the script of what happens there.
//
// # Nouns
//
// A [Workload] is the users of a world: entity types that they start on each [Process], and clients
// of these. A [Script] says how long the world is ill, and which [Harm] is done when. Everything that
// a workload does is decided by its script, and by numbers that it draws from the world's seed.
//
// # Guarantees
//
//   - One script and one seed make one story: a harm that was taken out of a script leaves all
//     others where they are.
//   - What a harm cannot do is left out: a node that does not run is not paused.
package workload
