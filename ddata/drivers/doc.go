// Package drivers steps the machines of one node, and carries out what they want.
//
// A driver stands between a machine and its host, which is a running node or a simulated one. The
// driver decides the order in which the effects of a step are carried out. The host has the
// network, the disk, the callers and the clock. So the simulator runs the code that ships.
//
//   - Members drives the membership machine (package membership). In one step the lease is
//     published first; the record goes to the disk; new members become peers; messages are sent;
//     members that are gone stop being peers; then views, work for the arbiter's lease and events
//     are told. The end comes last.
//   - Replica drives one replicator (package replicator). A node has two for each of its roles
//     (keyspace.Dataset), each with a channel of its own. In one step the version rises first, so
//     that a caller with its reply reads its own write; then come the disk, messages, replies and
//     changes.
//   - Data is a replica for callers that do not wait, over the loop around a Replica.
//   - Progress folds what the replicators of all datasets report into what the membership must know.
//
// They read no clock and start no goroutine. One goroutine at a time may use each of them.
package drivers
