// Package rollout introduces leases in a simulated world by rolling restarts, and takes them away by others.
//
// # Nouns
//
//   - A Stage is what a process does with the leases of its world.
//   - The Leases are those of a world: the stage of each process, which it keeps, and the present one, which a
//     process that starts gets.
package rollout
