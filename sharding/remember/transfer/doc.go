// Package transfer copies remembered ids from one remember.Store to another, while no node of the type
// runs: from the directories of nodes (package directories) to a journal (package journaled), or back.
//
// [Copy] leaves the source as it is. It may be repeated, and goes on where it was cut. When it has
// succeeded, the target has the ids that the source has, and no others; it has read both again. The
// nodes can then be started with the target, and what the source has can be removed.
package transfer
