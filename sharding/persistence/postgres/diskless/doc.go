// Package diskless runs clusters whose nodes have no directory. The homes of shards, the ids of
// remembered entities and the reminders that entities set are in PostgreSQL. Its tests have a process for
// each node, and kill, pause and stop them while entities are started, and while reminders wait.
//
// What must hold is looked up where it stands: which entities run, in each process; the homes and the
// terms of their coordinators, in the events of the journal; which reminders have come, in each process.
package diskless
