// Package joiners holds the nodes that ask a member to be let into the cluster, and says which of
// them cannot be taken.
//
// A Joiner is a node that has sent a Probe. A Table remembers the joiners of one member for as long
// as they go on asking, and the nodes that were members and were removed: a uid that was removed
// does not return. Table.Refusal says why a node cannot be taken.
//
// A joiner is taken into the view after the one that it has heard of and no later. A member that was
// absent for a while might otherwise find an old probe of a node that has been in, and gone. Which
// joiners the next view lists, package nextview decides.
//
// The package is pure and bounded: a stranger that makes addresses up neither fills the table for
// good nor the log.
package joiners
