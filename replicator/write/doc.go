// Package write acknowledges writes, and holds updates back that would outrun the peers.
//
// A [Queue] has the updates that have happened here, and wait until enough replicas have them. Own
// events are consecutive, so the writes of one level form a line, and an ack ends a prefix of it. A
// write that changed nothing waits for a clock instead. A write ends early if so many disks have
// refused it that the others are too few for its level.
//
// A [Holding] has the updates that have not happened yet. They wait while a peer that answers is
// too far behind, or while a linearizable read that was disturbed too often looks at their key.
package write
