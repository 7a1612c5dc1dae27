// Package singleton decides where something runs that has to run on one node of a role at a time: on
// the oldest member that has it.
//
// A Machine stands beside the machine of the membership, on each node of the role. It is told of the
// installed views and of the lease of the node. The oldest listed member starts under its lease. The
// next in age may start before a leaving member is out: when that member, asked for it, has said
// that it is done. That Word is final, because a uid that leaves never starts again.
//
// Each start has a FencingToken, which is higher than those of all starts before, on any node. A store
// outside of the cluster keeps the highest one and refuses lower ones.
//
// At any instant at most one node runs it and holds its lease. The package is pure: the driver
// carries out the Effects, and asks the lease again at the moment of a start. It cannot stop what
// runs; that has to obey Stop.
package singleton
