// Package readmodel has projections write tables of PostgreSQL so that each event takes effect once.
// A [Store] keeps the offsets in a schema of its own. It stands in the database where the tables of the
// handler are, which need not be that of the journal.
//
//	store, err := readmodel.Open(ctx, readmodel.Config{Pool: pool})
//	sales, err := projection.Start(node, projection.Config[Event]{
//		Name: "sales", …
//		Target: readmodel.ExactlyOnce(store, func(ctx context.Context, tx pgx.Tx, e projection.Recorded[Event]) error {
//			_, err := tx.Exec(ctx, "UPDATE sales SET cents = cents + $1 WHERE shop = $2", e.Event.Cents, e.Entity)
//			return err
//		}),
//	})
//
// # Schema
//
// [Open] makes the schema, and brings it to the format of the program. A program without the right to
// create runs with Config.Prepared, after [Migrate] with an account that has it. It needs these rights,
// beside those of its handlers:
//
//	GRANT USAGE ON SCHEMA coterie_projections TO app;
//	GRANT SELECT, INSERT, UPDATE ON coterie_projections.projections, coterie_projections.parts TO app;
//
// # Transactions
//
// A transaction has the writes of the handler for a batch of events, and after them the offset. The
// offset's row is written only if the claim is still the last one of its part: else nothing of the
// transaction is committed. A claim locks that row for a moment. So of two workers with one part, one
// commits, and the other begins again behind it. The isolation is READ COMMITTED.
//
// When the answer of a commit is lost, the part claims anew, and goes on at the offset that is there.
//
// # Rules for handlers
//
// A handler writes by its transaction alone. What it does elsewhere may happen several times. It must
// not end the transaction, nor go on after an error of a statement without a savepoint (tx.Begin), nor
// leave rows open: each of these is a failure of the event. Transactions of several parts run at one
// time. Two that update the same rows in different orders may be a deadlock for the server: one of them
// begins again.
//
// # Faults
//
// A process that is paused in a transaction holds its locks: the server ends such a transaction after
// Config.IdleMax. A read-only server is a standby after a fail-over: the pool lets its connections go,
// and finds the primary if the connection string names all servers, with
// target_session_attrs=read-write. A fail-over to an asynchronous standby may lose commits: effects and
// offset together. The next transaction of a part finds that its last one is missing. It commits nothing,
// and the part begins again, so the events take effect again. If the journal is in another database, and that
// one loses commits, the effects of lost events stay: see the faults in package postgres.
//
// # Pause
//
// After Projection.Pause has returned, no transaction of the projection commits.
package readmodel
