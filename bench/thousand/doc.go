// Package thousand plays a large cluster in virtual time, in one process: each node has the real
// machines and drivers of the membership, of the replicators and of sharding. What is played is the
// world outside: the network, which only takes time, and the clock.
//
// # What is real, and what is a count
//
// Real are the membership machine, the two replicators of a role, the coordinator, regions, shards,
// routes and mailboxes, with all messages between them, encoded. Each shard has one real entity, which
// the first message starts. The other entities of a shard are a number: no message between nodes
// depends on them, and no load is reported with the strategy that goes by counts.
//
// Not played are the gossip of memberlist, sockets, disks, and the time that a step takes: a step is
// over at the virtual time at which it began. The processor time of each step is measured instead, on
// the clock of the machine that plays. Messages count by their payload, without what a connection adds.
//
// # The play
//
// The nodes form a cluster, all shards get homes, a minute passes, all nodes are restarted in turn,
// youngest first and of the founders one at a time, another minute passes, and a tenth of them dies
// at once, the oldest among them. At each instant a shard has at most one owner, and at the end of
// each act exactly one, and no step takes more of the table of homes than a message may; otherwise the play
// fails. The restart ends when all nodes are in one view.
package thousand
