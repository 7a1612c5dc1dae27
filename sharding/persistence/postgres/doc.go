// Package postgres keeps the state of entities, and their reminders, in PostgreSQL 13 or newer. A [Store]
// is a persistence.Journal, with its Snapshots, States and Reader. Its [Reminders] are a remind.Store for
// each entity type. It is a module of its own.
//
// # Schema
//
// The tables and functions stand in a schema of their own. [Open] makes it, and brings it to the
// format of the program. It refuses one of a newer program, and one that holds something else.
// Several programs may do so at one time.
//
// A program without the right to create runs with Config.Prepared, after [Migrate] with an
// account that has it. It needs these rights:
//
//	GRANT USAGE ON SCHEMA coterie TO app;
//	GRANT USAGE ON SEQUENCE coterie.hostings TO app;
//	GRANT SELECT, UPDATE (era, started) ON coterie.meta TO app;
//	GRANT SELECT, INSERT ON coterie.kinds TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON coterie.fences, coterie.events, coterie.deletions,
//	  coterie.snapshots, coterie.states, coterie.reminders, coterie.reminded TO app;
//
// Each connection says by an advisory lock that the schema is in use. Config.Alone, for tools, refuses
// a schema that is. A store keeps one connection at least for that. Command coterie-postgres removes
// what entity types keep of themselves, homes, remembered ids and reminders, and copies the ids from and to
// the directories of nodes.
//
// # Calls
//
// A call is one statement, in one transaction. Calls of Append that come at one time share one: those of
// other shards wait for a transaction that is under way, and go together in the next. One that is fenced
// or in conflict harms no other; one whose shard is locked by another process goes alone.
//
// A call locks its shard, by an advisory lock, compares the token and the sequence numbers, and
// inserts. Fence waits for that lock: after it has returned, no call of an earlier hosting commits.
// Calls of one shard take turns. Deadlocks, and collisions with a process that knows another number of
// shards, are repeated inside the call, a few times.
//
// The deadline of a context is the longest wait for a lock, too. A call that is given up is
// cancelled on the server.
//
// # Reading
//
// Events are read in the order of the transactions that stored them, up to the oldest one that has
// not ended: so none comes before one that was read. A transaction that writes and stays open, in any
// database of the server, holds readers back. A live query hears of events by LISTEN, and looks for
// them at intervals. A query for a tag reads all events of the type, on the server.
//
// # Reminders
//
// A type of entities sets its reminders in tables of the same schema:
//
//	t.Reminders = sharding.Reminders{Enabled: true, Store: store.Reminders(t.Name)}
//
// A look at what is due costs what it returns: it goes along an index by time. A change is one statement,
// of the lock of its shard as the calls above, and fenced as they are: the first look of a hosting
// ends what the hostings before have yet to write.
//
// Each node watches which shards have reminders, by LISTEN and at intervals of Config.PollInterval, at
// most ten times in a second. A look is at one short row of each shard that ever had reminders, and not at
// these. A transaction that stays open holds nothing back there.
//
// # Faults
//
// When a connection is lost, the outcome of a call is unknown: it is repeated with the same IDs. The
// pool connects again. A read-only server is a standby after a fail-over: the pool lets its
// connections go, and finds the primary if the connection string names all servers, with
// target_session_attrs=read-write. The errors say what to do.
//
// A fail-over that keeps all commits costs time only. If it lost some, an entity that runs knows events
// which are not there: its next write is refused with persistence.ErrConflict, and it starts again from
// what is there. Package survival has the tests with servers and nodes that are killed and paused, and with
// synchronous and asynchronous standbys that take over.
//
// A backup that was put back lacks commits, too. Stop all nodes before.
//
// Readers pass over nothing afterwards. The server gives the numbers of lost transactions to others. But
// each start of a server process begins an era, and a later era is a later place. So a query goes on after
// any offset that was read before, and finds all that is stored in the new era. A reader that has seen lost
// events is not told so: a projection with tables in another database has handled them, and is handed the
// events that have their numbers now. Projection.Reset makes it anew.
//
// # Not guaranteed
//
// What was answered nil is as durable as a commit of the server: Open refuses synchronous_commit =
// off, and cannot see what the disk does. A fail-over to an asynchronous standby loses
// commits. A server without checksums of pages may lose the last events of a history unseen; damage
// of an event that is there, and a gap, are found.
//
// The tokens of the reminders of a cluster that was founded anew are higher because of the founder's wall
// clock (ddata.FencingToken). If that is behind, all calls of reminders fail with remind.ErrFenced, and
// the event RemindersFailed says so. Founding again when the clock is right helps.
//
// A server that is put back without a start of its process has no new era. It may be a virtual machine with
// its memory, or a dump that is loaded while the server runs. Start the server anew then. A query after an
// offset of an era that is not there is persistence.ErrDamaged until an event is stored in a new one.
package postgres
