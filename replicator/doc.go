// Package replicator is the protocol by which the nodes of one role keep the same items, as a pure machine.
package replicator
