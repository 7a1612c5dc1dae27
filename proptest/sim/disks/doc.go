// Package disks is the simulated disk of a slot.
//
// A [Disk] outlives the processes of its slot. It keeps the laws of package durable: what waits is
// committed together, and what was not committed is forgotten, or was committed in part, when a
// process ends. Until the [World] heals a disk is slow, stalls, fails commits, all of them or those
// to one table, is full, and cannot be read at a start.
//
// It may lie: when its power is cut, it goes back to an earlier moment, except for the membership's
// record. It may also tear the batch that it writes then. A start must refuse that, and Wipe is what
// an operator does about it.
package disks
