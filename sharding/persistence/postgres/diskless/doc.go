// Package diskless runs clusters whose nodes have no directory. The homes of shards and the ids of
// remembered entities are in PostgreSQL. Its test has a process for each node, and kills, pauses and
// stops them while entities are started.
//
// What must hold is looked up where it stands: which entities run, in each process; the homes and the
// terms of their coordinators, in the events of the journal.
package diskless
