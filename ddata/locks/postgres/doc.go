// Package postgres keeps leases in PostgreSQL 13 or newer, for nodes on several hosts. A [Store] is
// a locks.Store. It is a module of its own.
//
// # Nouns
//
// A Store is a schema of a database, which nothing else uses. [Open] makes it when it is missing.
// Each lease has one row, which stays: the owner's name, the random id of its door, the number of the
// door's attempt to acquire it, a version, the time until which the lease lasts, and the record. The
// version is a number that each acquisition and each release counts up.
//
// # Time
//
// The server's clock says when a lease has ended. To acquire is two statements: one looks, and one
// takes the lease if the version is still the same. The server compares when it has locked the row.
// The holder renews four times in each Config.TTL, and counts the TTL on its
// own clocks, from when it sent the request. The server grants a fifth more, so that a late answer
// and clocks of different speeds leave no time with two holders. The holder is told of the loss
// when its time is over, or earlier if the row names another owner.
//
// A node that died keeps its leases for at most 1.3 TTL. A lease that was released is free at once.
//
// A store compares the server's clock with its own monotonic clock, four times in each TTL. It
// takes a lease that was not released only when it has seen the server's clock run on evenly for as
// long as that lease lasts. So it waits for 1.2 TTL after Open, after an outage of the server of
// more than 2.4 TTL, and after a jump of the clock.
//
// The clocks can be compared only if a round trip takes less than a fortieth of the TTL. [Open]
// refuses a server that is farther away. When it gets too far away later, to acquire a lease that
// has ended is an error. Both say which TTL would do.
//
// # Guarantees
//
//   - They are the laws of locks.Lock, which package lockstest holds the store to.
//   - A record is read and written by a statement that compares the door, the attempt and the time.
//     So no save of an earlier holder comes after the record was loaded by a later one.
//   - A clock of the server that is set forward ends no lease early. The holder renews by the new
//     time.
//   - Each statement is given up after Config.Timeout. Acquire makes two, or up to six while others
//     acquire too, Load and Save up to four, all others one. Release and Close end the calls that are
//     under way.
//   - One connection of the pool is left to renewals. Connections that go dead cost them one call,
//     not one for each connection, if new ones can be made.
//   - Errors of the server say what to do. After an error of Acquire the owner acquires again,
//     or releases. A request of before that reaches the server after Release has no effect.
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
// A clock of the server that is set back makes the leases of nodes that died last longer, by as
// much. Leases of nodes that live are not concerned. The remedy, when it is certain that the holder
// is dead, is UPDATE coterie_locks.leases SET door = NULL for the lease.
//
// A clock of the server that runs wrong by more than a tenth, without a jump, can let two hold a
// lease. A correction by some seconds is a jump. One of less than a fortieth of the TTL is within
// the margin. A clock that is set back, and forward again within a quarter of the TTL, can be
// missed, and do the same.
//
// A fail-over to a server that lacks commits can let two hold a lease: use a synchronous standby. A
// server without fsync that crashes can do the same, and so can a backup that is put back while
// nodes run. Open refuses synchronous_commit = off, and cannot see the rest. Connection strings
// that lead nodes to two servers give them two stores. Nodes compare the ID, but a copy of a
// database has the ID of the original.
//
// A save that the server is carrying out when the time of the holder is over may still take effect
// after lost was called, if the server stood still in the midst of it. No later holder loads the
// record before that. After an error of Release, a save of before may take effect until the end of
// the lease.
//
// A pause of the process between a look at Until and what is done then is the owner's affair. A
// suspend of the machine ends a hold if its wall clock goes on.
package postgres
