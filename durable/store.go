package durable

// Row is one key with its value.
//
// A nil Value deletes the key. A Value that is not nil is never empty: its first byte is a format
// byte chosen by the table's owner, so that a later version can tell old rows from new ones.
type Row struct {
	Key   []byte // 1 to KeyMax bytes; rows are ordered by bytes.Compare of their keys
	Value []byte // nil deletes; otherwise at least one byte
}

// Table is one named set of rows, ordered by key. Its methods may be called from any goroutine.
//
// Laws, which storetest checks on every implementation:
//
//   - Whole: a batch is durable whole or not at all, also after a kill and after a cut of power.
//   - Last wins: of several rows of one batch with one key the last counts.
//   - Order: batches of one Env become durable in the order of their Commit calls. If a batch is
//     found after a crash, then so is every batch before it that was answered nil.
//   - Answered once: done is called exactly once for each Commit unless the process (or the
//     simulated machine) dies, in the order of the Commit calls of the Env, and one at a time. It
//     is called after the batch is durable, never before.
//   - Failed means nothing: a batch whose done got an error left no trace, and the Env stays
//     usable; later batches may succeed. The next batch of a caller may make sense only on top of
//     the last one, as a clock over rows does. Such a caller keeps one batch in flight, and puts
//     one that has failed in front of the next one. That costs no throughput: what gathers
//     meanwhile is the next batch.
type Table interface {
	// Load calls fn for every row in key order, as of one moment: every batch answered nil before
	// the call, none in part. The slices belong to the table and are valid during the call of fn
	// only. An error of fn ends the load and is returned. fn must not wait for a Commit, nor call
	// Load, Env.Table or Env.Close: the table may be waiting for the load to end.
	Load(fn func(Row) error) error

	// Commit queues rows as one batch and returns without waiting for the disk. The rows and their
	// bytes belong to the table until done is called. done runs on the writer's goroutine and must
	// be quick: until it returns no other batch is written. It may call Commit. A batch without
	// rows is legal and is answered in its turn: a barrier.
	//
	// A batch that can not be queued (see ErrOverloaded, ErrBadRow, ErrTooLarge) is answered with
	// that error in its turn, too. Only when the Env is closed already is done called, with
	// ErrClosed, before Commit returns.
	Commit(rows []Row, done func(error))
}

// Env holds the tables of one node. Its methods may be called from any goroutine.
type Env interface {
	// Table returns the table of that name and makes it when it is missing. The same name gives the
	// same table. Names are 1 to NameMax bytes without a zero byte.
	Table(name string) (Table, error)
	// Close makes everything durable that was queued, answers it and releases the store. Further
	// calls do nothing. It waits for loads to end; it must not be called from done or from the
	// function of a Load.
	Close() error
	// Dir says where the rows are: a directory, or what stands in its place.
	Dir() string
}
