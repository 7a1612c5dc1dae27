// Package postgres keeps the state of entities, and their reminders, in PostgreSQL 13 or newer. A
// [Store] is a persistence.Journal, with its Snapshots, States and Reader. Its [Reminders] are a
// remind.Store for each entity type. It is a module of its own.
//
//	t.Reminders = sharding.Reminders{Enabled: true, Store: store.Reminders(t.Name)}
//
// # Schema
//
// The tables and functions stand in a schema of their own. [Open] makes it, and brings it to the
// format of the program. It refuses one of a newer program, and one that holds something else.
// Several programs may do so at one time.
//
// A program without the right to create runs with Config.Prepared, after [Migrate] with an account
// that has it. It needs these rights:
//
//	GRANT USAGE ON SCHEMA coterie TO app;
//	GRANT USAGE ON SEQUENCE coterie.hostings TO app;
//	GRANT SELECT, UPDATE (era, started) ON coterie.meta TO app;
//	GRANT SELECT, INSERT ON coterie.kinds TO app;
//	GRANT SELECT, INSERT, UPDATE, DELETE ON coterie.fences, coterie.events, coterie.deletions,
//	  coterie.snapshots, coterie.states, coterie.reminders, coterie.reminded TO app;
//
// Each connection says by an advisory lock that the schema is in use. Config.Alone, for tools,
// refuses a schema that is. A store keeps one connection at least for that. Command
// coterie-postgres removes what entity types keep of themselves, homes, remembered ids and
// reminders, and copies the ids from and to the directories of nodes.
//
// # How it works
//
// A call is one statement, in one transaction. Calls of Append that come at one time share one. A
// call locks its shard by an advisory lock, compares the token and the sequence numbers, and
// inserts. Events are read in the order of the transactions that stored them. A live query hears of
// events by LISTEN.
//
// # Guarantees
//
// After Fence has returned, no call of an earlier hosting commits. A call whose outcome is unknown
// is repeated with the same IDs, and stores nothing twice. A fail-over that keeps all commits costs
// time only.
//
// # Not guaranteed
//
// What was answered nil is as durable as a commit of the server. Open refuses synchronous_commit =
// off, and cannot see what the disk does. A fail-over to an asynchronous standby loses commits: an
// entity that knows more is refused with persistence.ErrConflict, and starts again from what is
// there. Stop all nodes before a backup is put back.
//
// The file design.md tells of calls, readers, reminders, faults and eras. Package survival has the
// tests with servers and nodes that are killed and paused.
package postgres
