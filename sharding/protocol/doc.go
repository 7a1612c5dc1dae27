// Package protocol decides where entities live. It holds the three pure machines of cluster sharding: the Coordinator of an entity type, the
// Region of a type on one node, and the Shard.
package protocol
