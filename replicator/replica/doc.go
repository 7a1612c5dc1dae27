// Package replica is one replica of the items of a role: what it holds, what its peers are known to
// hold, and the members of the installed view. The owners of writes, reads and repairs stand on it.
//
// A [View] names the members that quorums count. A [Roster] is the view as this replica sees it,
// with a [Peer] for each other member. A [Site] is what both spaces share: settings, the time of
// the step, the roster, and the effects. A [Replica] is one space: the store, its way to the disk,
// and a [Link] to each peer.
//
// Two clocks say what a replica has. The content clock goes with the items. The acked clock says
// what counts: in the durable space, what the disk has committed (R7). Every answer is given from
// the acked clock.
//
// The package sends messages and notes what peers tell. It decides nothing about operations, and
// knows none.
package replica
