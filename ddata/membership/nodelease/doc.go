// Package nodelease holds both sides of the lease of a node: what it may rely on, and what it has
// promised to others (C. Gray and D. Cheriton, Leases, SOSP 1989).
//
// A Lease is the permission to run anything at all. A Holder counts the grants of the voters: a
// grant counts until L after the heartbeat was sent that it answers. While the grants of a quorum
// last, the node holds its lease. Promises are the other side: a node that granted, or installed a
// view, accepts no view without that member before L(1+ε) has passed on its own clock.
//
// The package counts and remembers. Which member is granted a lease, and which messages carry it,
// the membership decides: it has the rules G and V of package membership.
package nodelease
