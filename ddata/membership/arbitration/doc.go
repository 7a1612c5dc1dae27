// Package arbitration carries the vote of an arbiter outside of the cluster (downing.LeaseMajority).
//
// The arbiter is an acceptor of its own. Its state, a Record, lies under its lease, which one node
// has at a time. That node is its Carrier: it votes as itself at once, and for the arbiter when that
// is saved. A Carrier tries for the lease when it knows no holder, gives it back to a larger side,
// and asks by Ops for what is done outside.
//
// The arbiter accepts only what its carrier accepts in the same step, and both together are a
// quorum. So what it has accepted is decided. The rules AR1 to AR4 stand in package membership.
//
// The package decides no view and sends nothing. A call leaves what it wants done in the Output, and
// the membership carries that out.
package arbitration
