// Package exchange brings groups of events from one replica to another: it pushes, applies,
// acknowledges, and fills gaps.
//
// A [Pusher] brings the own groups to the peers, as far as each peer's window allows, and tells the
// peers what has come of theirs. An [Intake] applies the groups of others. A group that came too
// early waits there for what it builds on. [Gaps] asks peers for groups that are missing here, and
// sends peers what they lack, from the log.
//
// A group is applied, persisted and shipped whole (R9). One that is larger than a frame is cut in
// transit. What no log has any more is the matter of package repair.
package exchange
