// Package retiring says when incarnations that are over retire (view.Ages): so that what replicators keep
// of each of them, a row in their clocks, does not grow with the age of the cluster. It is pure.
//
//	many have come ──Begin──► a view with Ending ──all members have Agreed under one view, End──► Ended
//
// # Begin
//
// A view in which a member comes up begins a retirement when enough incarnations have come since the last
// one, and the cluster is calm: all members are Up, heard and stay, no keys move, and it does not shut
// down. In a rolling restart of one node after the other none is away then. It names all
// incarnations below a bound except members. A node that comes later has to be above it:
// the members refuse others, and tell the bound, so that such a node draws another uid by itself.
//
// # End
//
// Under each view the replicators of each member find out whether all members have the same of the
// incarnations that end (rule R16 of package replicator). A member says so with the epoch of the view
// (message.Agreed), so its word is void with the next view. When all members of one view have said so,
// the next view ends the retirement, and names the epoch. A member that is silent holds it up until it
// is removed, and no longer.
//
// A retirement ends only when all roles have settled all earlier views. Then what the members have
// agreed on contains what was acknowledged in these, and no view that follows lists a disk of them that
// a cold start has to hear.
//
// # Disks
//
// A node stores up to which bound its disk is clean (record.Clean) before it says so: of what the members
// agree on, the disk holds nothing else. It is so in two cases.
//
//   - Its replicators have agreed, under any view while the retirement is under way. All members had the same
//     as this node then, and no member forgets any of it. So what they agree on in the end, perhaps when this node
//     is away, contains it.
//   - It is a joiner, its disk was empty or not outdated, and it has caught up: what it has is from members.
//
// A founding anew takes only clean disks (package bootstrap). A joiner with another disk is judged by its
// replicators: if it holds something of incarnations that have ended, and has not closed them, it is
// outdated, and the node ends (rule R16). So a node that is killed in the second that a retirement takes, or
// is away for longer than it takes for so many others to come, may have to start from empty.
package retiring
