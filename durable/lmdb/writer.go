package lmdb

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// writer is the one goroutine that writes. It takes what waits, commits as much of it as fits one
// transaction, answers, and takes what gathered during that: the slower the disk, the larger the
// groups, with no delay of our own.
//
//	Commit ──► queue ──take──► group ──Update (one fsync)──► done, done, done …
//	           bytes ≤ QueueMax    rows ≤ groupRows, or one larger batch
//
// Batches go from the queue to the disk to their answers in one order. Refused batches go the same
// way, with their error.
type writer struct {
	env   *Env
	ended chan struct{}

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []request
	bytes  int  // of the queue and of what is being written
	closed bool // nothing is queued any more
	counts Stats
}

// request is one batch, or the wish to open a table.
type request struct {
	table *table // nil: the batch was refused
	open  bool   // no batch
	rows  []durable.Row
	size  int
	done  func(error)
	err   error // why it was refused or has failed
}

// Bounds of one transaction. A batch beyond groupRows or groupBytes goes alone and whole. LMDB
// keeps at most 131,071 changed pages in memory and gets slow and, in this version, not entirely
// trustworthy beyond; pagesMax stays below.
const (
	groupRows  = 4096
	groupBytes = 16 << 20
	pagesMax   = 120_000
)

func startWriter(e *Env) *writer {
	w := &writer{env: e, ended: make(chan struct{})}
	w.wake = sync.NewCond(&w.mu)
	go w.run()
	return w
}

// commit queues a batch, or a refusal in its place.
func (w *writer) commit(t *table, rows []durable.Row, done func(error)) {
	err := durable.CheckRows(w.env.dir, rows)
	r := request{table: t, rows: rows, size: durable.Size(rows), done: done}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		done(closedError(w.env.dir))
		return
	}
	if err == nil && w.bytes > 0 && w.bytes+r.size > w.env.opts.QueueMax {
		err = w.overloadedLocked()
	}
	if err != nil {
		r = request{size: durable.Size(nil), done: done, err: err}
		w.counts.Refused++
	}
	w.pushLocked(r)
	w.mu.Unlock()
}

func (w *writer) overloadedLocked() error {
	return &durable.Error{Kind: durable.ErrOverloaded, Path: w.env.dir,
		Detail: fmt.Sprintf("%d bytes wait for the disk, at most %d may", w.bytes, w.env.opts.QueueMax),
		Remedy: "commit again when earlier batches have been answered; if it stays, the disk stands still or is " +
			"too slow"}
}

func (w *writer) pushLocked(r request) {
	w.queue = append(w.queue, r)
	w.bytes += r.size
	w.wake.Signal()
}

// openTable waits for the writer to open a table if it is in the file.
func (w *writer) openTable(t *table) error {
	answer := make(chan error, 1)
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return closedError(w.env.dir)
	}
	w.pushLocked(request{table: t, open: true, done: func(err error) { answer <- err }})
	w.mu.Unlock()
	return <-answer
}

// stop ends the writer when everything that waits is written and answered.
func (w *writer) stop() {
	w.mu.Lock()
	w.closed = true
	w.wake.Signal()
	w.mu.Unlock()
	<-w.ended
}

func (w *writer) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

func (w *writer) stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.counts
	s.Queued = w.bytes
	return s
}

// run is the goroutine. A write transaction belongs to a thread, and LMDB's Update keeps one for as
// long as it lasts. Were one kept for good, every batch that finds the writer asleep would have to
// wake that thread: measured without a disk, a caller alone then waits three times as long, for
// twice the processor time.
func (w *writer) run() {
	defer close(w.ended)
	var taken []request
	for w.take(&taken) {
		for rest := taken; len(rest) > 0; {
			n := groupLen(rest)
			w.write(rest[:n])
			rest = rest[n:]
		}
		clear(taken) // the rows are their owners' again
		// The callers that were just answered may have their next batch ready in a moment; the disk
		// would make them wait for a whole commit. Measured: with 2 to 16 callers that wait for
		// each answer this gives 1.2 times the rows per second and larger groups; alone it costs
		// nothing.
		runtime.Gosched()
	}
}

// take swaps the queue for the empty slice in *into. It waits for something to do; false says that
// there will be nothing any more.
func (w *writer) take(into *[]request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.closed {
		w.wake.Wait()
	}
	*into, w.queue = w.queue, (*into)[:0]
	return len(*into) > 0
}

// groupLen says how many of the waiting requests share the next transaction. At least one does.
func groupLen(rs []request) int {
	rows, bytes := 0, 0
	for i, r := range rs {
		if i > 0 && (r.open || rs[i-1].open) {
			return i
		}
		rows, bytes = rows+len(r.rows), bytes+r.size
		if i > 0 && (rows > groupRows || bytes > groupBytes) {
			return i
		}
	}
	return len(rs)
}

// write commits one group and answers it.
func (w *writer) write(group []request) {
	if first := &group[0]; first.open {
		first.err = w.find(first.table, false)
	} else if slices.ContainsFunc(group, writes) {
		w.commitNow(group)
	}
	w.account(group)
	for _, r := range group {
		r.done(r.err)
	}
}

// writes reports whether a request changes anything: one that is refused, has failed or is empty
// needs no transaction.
func writes(r request) bool { return r.err == nil && len(r.rows) > 0 }

// find opens a table, and makes it when create says so.
func (w *writer) find(t *table, create bool) error {
	if t.dbi.Load() != 0 {
		return nil
	}
	h, err := w.env.store()
	if err != nil {
		return err
	}
	dbi, err := h.openTable(t.name, create)
	t.dbi.Store(uint32(dbi))
	return err
}

// commitNow commits a group in one transaction and notes in each batch why it failed. A table that
// cannot be opened fails its own batches, and the transaction has those of the others.
func (w *writer) commitNow(group []request) {
	h, err := w.env.store()
	if err == nil {
		w.openTables(group)
		err = w.commitGroup(h, group)
	}
	if err != nil {
		w.fail(group, nil, err)
	}
}

// openTables opens the tables that a group writes to.
func (w *writer) openTables(group []request) {
	for _, r := range group {
		if !writes(r) {
			continue
		}
		if err := w.find(r.table, true); err != nil {
			w.fail(group, r.table, err)
		}
	}
}

// fail fails the batches of one table in a group, or of all tables if t is nil.
func (w *writer) fail(group []request, t *table, err error) {
	n := 0
	for i := range group {
		if r := &group[i]; r.err == nil && (t == nil || r.table == t) {
			r.err = err
			n++
		}
	}
	w.env.opts.OnEvent(CommitFailed{Dir: w.env.dir, Batches: n, Err: err})
}

func (w *writer) commitGroup(h *handle, group []request) error {
	if !slices.ContainsFunc(group, writes) {
		return nil
	}
	err := h.update(func(txn *lmdb.Txn) error {
		for _, r := range group {
			if !writes(r) {
				continue
			}
			if err := w.checkPages(txn, r); err != nil {
				return err
			}
			if err := putRows(txn, r); err != nil {
				return err
			}
		}
		return nil
	})
	return fault(h.file, h.explain(err))
}

// checkPages refuses a batch that could change more pages than a transaction holds: each row
// another leaf of the table as it is, and what is put in new leaves, half full.
func (w *writer) checkPages(txn *lmdb.Txn, r request) error {
	if len(r.rows) <= groupRows && r.size <= groupBytes {
		return nil
	}
	st, err := txn.Stat(lmdb.DBI(r.table.dbi.Load()))
	if err != nil {
		return err
	}
	const nodeOverhead = 10
	put := 0
	for _, row := range r.rows {
		if row.Value != nil {
			put += nodeOverhead + len(row.Key) + len(row.Value)
		}
	}
	touched := min(uint64(len(r.rows)), st.LeafPages+st.OverflowPages) + st.BranchPages
	if pages := touched + 2*uint64(put)/uint64(st.PSize); pages > uint64(w.env.opts.test.pagesMax) {
		return &durable.Error{Kind: durable.ErrTooLarge, Path: w.env.dir,
			Detail: fmt.Sprintf("a batch of %d rows could change %d pages of the file, at most %d may be",
				len(r.rows), pages, w.env.opts.test.pagesMax), Remedy: "commit in smaller batches"}
	}
	return nil
}

func putRows(txn *lmdb.Txn, r request) error {
	dbi := lmdb.DBI(r.table.dbi.Load())
	for _, row := range r.rows {
		var err error
		if row.Value != nil {
			err = txn.Put(dbi, row.Key, row.Value, 0)
		} else if err = txn.Del(dbi, row.Key, nil); lmdb.IsNotFound(err) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// account gives the bytes back and counts, before any caller is answered.
func (w *writer) account(group []request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrote := false
	for _, r := range group {
		w.bytes -= r.size
		switch {
		case r.open || r.table == nil: // no batch, or one that is counted as refused
		case r.err != nil:
			w.counts.Failed++
		default:
			w.counts.Batches++
			w.counts.Rows += uint64(len(r.rows))
			for _, row := range r.rows {
				w.counts.Bytes += uint64(len(row.Key) + len(row.Value))
			}
			wrote = wrote || len(r.rows) > 0
		}
	}
	if wrote {
		w.counts.Commits++
	}
}
