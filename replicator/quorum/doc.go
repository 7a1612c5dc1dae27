// Package quorum counts replicas. It knows views and the members of views, and no message, no
// timer and no store: package replicator asks it, and carries out what follows.
//
// # Nouns
//
// A [Level] says how many replicas an operation must reach. A [Set] is one view whose quorum
// counts: the installed one, or an older one that is not settled. A [Joint] is all sets that count
// together: an operation needs enough members of each of them.
//
// A [Chain] is what one replica knows of the views that are not settled. A view is settled when a
// majority of its voters contains all that was acknowledged before it. Every older view is then
// history. [Reports] is what the members had acknowledged when they installed a view. What a
// majority of each unsettled view has reported is the goal ([Goal]): the installed view is settled
// when a majority of it contains the goal.
//
// # Guarantees
//
//   - Two quorums of one view have a member in common.
//   - A quorum that would leave out an unsettled view is no quorum: while a view of the chain is
//     missing, [Joint.Agreed] is false and [Joint.Reach] is 0.
//   - An older view never blocks its survivors permanently (rule R13 of package replicator): it
//     asks for no more members than are left of it. [Set.MajorityGone] tells when that was needed.
//   - After a cold start one disk is one vote, even when a process that was started again stands
//     beside its dead self.
//
// A Set does not know what its peers are. The caller asks about each of them, and about itself as
// the zero peer.
package quorum
