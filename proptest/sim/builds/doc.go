// Package builds says which build of the library runs on each simulated process, and judges what follows
// from that.
//
// A build is the range of format levels that it speaks. In most worlds all processes are of the one that
// is tested. In some there are three: the first, the second, which speaks its level too, and the third,
// which does not any more. Where a build was refused, the operator puts the second: a cluster that has
// the level of one of them takes it.
package builds
