// Package postgres keeps leases in PostgreSQL 13 or newer, for nodes on several hosts. A [Store] is
// a locks.Store. It is a module of its own.
//
// # Nouns
//
// A Store is a schema of a database, which nothing else uses. [Open] makes it when it is missing.
// Each lease has one row, which stays: the owner's name, the random id of its door, the number of
// the door's attempt to acquire it, a version, the time until which the lease lasts, and the
// record. The version is a number that each acquisition and each release counts up.
//
// The server's clock says when a lease has ended. The holder renews four times in each Config.TTL,
// and counts the TTL on its own clocks, from when it sent the request. The server grants a fifth
// more.
//
// # Guarantees
//
// They are the laws of locks.Lock, which package lockstest holds the store to. A record is read and
// written by a statement that compares the door, the attempt and the time. So no save of an earlier
// holder comes after the record was loaded by a later one. A clock of the server that is set
// forward ends no lease early. A node that died keeps its leases for at most 1.3 TTL. A lease that
// was released is free at once. A round trip must take less than a fortieth of the TTL: [Open]
// refuses a server that is farther away.
//
// # Cost
//
// Each lease that is held costs four small commits in each TTL, and a goroutine. With some thousand
// leases of shards, a longer TTL is better. Nodes may differ in their TTL.
//
// # Rights
//
// The account that opens the store first creates the schema. Another one needs these rights:
//
//	GRANT USAGE ON SCHEMA coterie_locks TO app;
//	GRANT SELECT ON coterie_locks.meta TO app;
//	GRANT SELECT, INSERT, UPDATE ON coterie_locks.leases TO app;
//
// The leases can be looked at with
//
//	SELECT convert_from(name, 'UTF8'), convert_from(owner, 'UTF8'), until, door IS NOT NULL AS held
//	FROM coterie_locks.leases;
//
// # Not guaranteed
//
// A fail-over to a server that lacks commits can let two hold a lease: use a synchronous standby.
// So can a clock of the server that runs wrong by more than a tenth, and a backup that is put back
// while nodes run. A clock that is set back makes the leases of nodes that died last longer. A
// pause of the process between a look at Until and what is done then is the owner's affair.
//
// The file design.md tells how time is counted, and has all guarantees and exceptions.
package postgres
