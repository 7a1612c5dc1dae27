// Package replicated keeps the offsets of projections in the replicated data of a role, for
// projection.AtLeastOnce. It needs nothing beside the nodes. Open it on each node of the role:
//
//	offsets, err := replicated.Open(node, "backend")
//
// Keys begin with projection/, and are on the disk of each node that has a directory
// (ddata.Config.Dir). So offsets survive a stop of all nodes there. A part has two keys: the number of
// its last claim, and its place.
//
// # Claims
//
// Writes and reads are those of a majority.
//
//  1. A claim writes a number above those that it has read. Then it reads the place, and writes it again
//     under its own number.
//  2. A save writes the place under its number. Then it reads the number of the last claim. If that is
//     higher, it is fenced.
//
// A place under a higher number beats every one under a lower number, however late that comes. Of a save
// and a later claim, one sees the other: the claim has written before it reads the place, and the save
// before it reads the number. So a save that was answered nil is where the next claim goes on. A save
// that comes during a claim and is fenced, or has failed, may be where the claim goes on, too: its events
// were handled.
//
// # Not guaranteed
//
// A reset of all parts is not one moment: if it fails, some are reset. Repeat it. A node that is cut off
// from the majority handles events, and cannot save; another node handles them again.
package replicated
