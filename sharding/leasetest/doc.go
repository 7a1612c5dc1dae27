// Package leasetest tries leases of shards with real nodes: whether a store of leases outside of the
// cluster keeps a shard to one node when the node that runs it is killed.
//
// A test runs the nodes as processes, each of which makes a [Node] with a store of its own. [Run]
// plays them.
package leasetest
