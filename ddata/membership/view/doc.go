// Package view holds the vocabulary of the membership: ids, members, and the views that list them.
// It is pure, and decides nothing.
//
// A Member is one incarnation of a node, named by a UID. A View lists the members of one Epoch.
// Views form a chain: each names the hash of its parent, and has the format level that all members
// write. A view tells its voters by itself, oldest
// first, so all nodes that have it agree on them. A DiskSet names disks that a cold start has to
// hear, and the patterns of a view say which keys are durable. A Service is something of which one
// member at a time is in charge: the first in its Line.
//
// Installed is a view as a node has installed it, with its voters and its hash computed once. A
// Settlement counts up to which epoch its roles are settled.
//
// Views are bounded in bytes, because they have to be stored and sent: Check holds a view to its
// invariants, and Room counts what its members take. Views and members are values that are not
// modified once they were handed out.
package view
