package durable

import (
	"slices"
	"sync"

	"github.com/tidwall/btree"
)

// Memory is an Env for tests and simulators, whose disk does what it is told: batches wait until
// Flush or FlushN makes them durable, and Crash forgets those that waited. It has no goroutine and
// no clock; the same calls give the same result. A flush calls done, on its own goroutine, with no
// lock held.
//
//	        Commit          Flush, FlushN
//	caller ────────► queue ───────────────► durable ──► done
//	                   │ Crash                 │ Crash
//	                   ▼                       ▼
//	               forgotten             the next Memory
type Memory struct {
	mu       sync.Mutex
	tables   map[string]*memoryTable
	queue    []memoryBatch                     // in Commit order
	failures []error                           // what the next batches to be flushed get instead
	commits  func(table string) error          // may fail a commit; nil: none does
	loads    func(table string, row int) error // may fail a load; nil: none does
	auto     bool
	flushing bool // a Flush is calling done: a nested one leaves the work to it
	state    memoryState
}

type memoryState uint8

const (
	memoryOpen memoryState = iota
	memoryClosed
	memoryCrashed // Commit drops, nothing is answered any more
)

type memoryTable struct {
	m    *Memory
	name string
	rows btree.Map[string, string] // durable
}

type memoryBatch struct {
	table *memoryTable
	rows  []Row
	done  func(error)
	err   error // refused at Commit; answered in its turn
}

var (
	_ Env   = (*Memory)(nil)
	_ Table = (*memoryTable)(nil)
)

// NewMemory returns an empty Memory that flushes when it is told to.
func NewMemory() *Memory { return &Memory{tables: make(map[string]*memoryTable)} }

// AutoFlush sets whether Commit flushes at once: done is then called before Commit returns, unless
// Commit was called by a done. It flushes what waits, and returns m.
func (m *Memory) AutoFlush(on bool) *Memory {
	m.mu.Lock()
	m.auto = on
	m.mu.Unlock()
	if on {
		m.Flush()
	}
	return m
}

// FailNext makes the next batch that would become durable fail with err and write nothing. Calls
// add up: two calls fail two batches.
func (m *Memory) FailNext(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = append(m.failures, err)
}

// FailCommits has fn asked for each batch that would become durable. The batch fails with the error
// that fn returns, if any, and writes nothing. A nil fn ends that. fn must not call m.
func (m *Memory) FailCommits(fn func(table string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits = fn
}

// FailLoads has fn asked before each row that a load reads, which it counts from 0, and once more
// behind the last. The load ends with the error that fn returns, if any. A nil fn ends that.
func (m *Memory) FailLoads(fn func(table string, row int) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loads = fn
}

// Pending says how many batches wait.
func (m *Memory) Pending() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue)
}

// Flush makes everything durable that waits and answers it in order, also what a done commits
// meanwhile. It says how many were answered.
func (m *Memory) Flush() int { return m.FlushN(-1) }

// FlushN is Flush for the n oldest batches; a negative n means all. Inside a done it does nothing:
// the flush that called done goes on.
func (m *Memory) FlushN(n int) int {
	m.mu.Lock()
	if m.flushing {
		m.mu.Unlock()
		return 0
	}
	m.flushing = true
	answered := 0
	for answered != n && len(m.queue) > 0 {
		b := m.queue[0]
		m.queue = slices.Delete(m.queue, 0, 1)
		err := m.applyLocked(b)
		m.mu.Unlock()
		b.done(err)
		answered++
		m.mu.Lock()
	}
	m.flushing = false
	m.mu.Unlock()
	return answered
}

func (m *Memory) applyLocked(b memoryBatch) error {
	if b.err != nil {
		return b.err
	}
	if len(m.failures) > 0 {
		err := m.failures[0]
		m.failures = m.failures[1:]
		return err
	}
	if m.commits != nil {
		if err := m.commits(b.table.name); err != nil {
			return err
		}
	}
	b.table.put(b.rows)
	return nil
}

func (t *memoryTable) put(rows []Row) {
	for _, r := range rows {
		if r.Value == nil {
			t.rows.Delete(string(r.Key))
		} else {
			t.rows.Set(string(r.Key), string(r.Value))
		}
	}
}

// Crash forgets what was not flushed (its done is never called) and returns a fresh Memory over
// what was durable, with AutoFlush as it was and without pending failures. The crashed one is dead:
// it drops commits without an answer, and loads fail.
func (m *Memory) Crash() *Memory { return m.CrashWriting(0, 0) }

// CrashWriting is Crash for a machine that dies while it writes. The oldest waiting batches are
// durable, and no caller hears of that. With rows above 0 the store breaks the law Whole: of the
// next batch the first rows are durable, too. A refused batch writes nothing.
func (m *Memory) CrashWriting(batches, rows int) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, b := range m.queue {
		switch {
		case b.err != nil:
		case i < batches:
			b.table.put(b.rows)
		case i == batches:
			b.table.put(b.rows[:min(rows, len(b.rows))])
		}
	}
	next := m.copyLocked()
	m.state = memoryCrashed
	m.queue, m.failures = nil, nil
	return next
}

// Copy returns a Memory of its own over what is durable now. A disk that has lied about every later
// flush holds that after a cut of power.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.copyLocked()
}

func (m *Memory) copyLocked() *Memory {
	next := NewMemory()
	next.auto = m.auto
	for name, t := range m.tables {
		next.tables[name] = &memoryTable{m: next, name: name, rows: *t.rows.Copy()}
	}
	return next
}

// Table implements Env.
func (m *Memory) Table(name string) (Table, error) {
	if err := CheckName(m.Dir(), name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != memoryOpen {
		return nil, m.closedError()
	}
	t := m.tables[name]
	if t == nil {
		t = &memoryTable{m: m, name: name}
		m.tables[name] = t
	}
	return t, nil
}

// Close implements Env: it flushes. What was durable can be had with Crash.
func (m *Memory) Close() error {
	m.Flush()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == memoryOpen {
		m.state = memoryClosed
	}
	return nil
}

// Dir implements Env.
func (m *Memory) Dir() string { return "memory" }

func (m *Memory) closedError() error {
	return &Error{Kind: ErrClosed, Path: m.Dir(), Remedy: "open it again"}
}

// Load implements Table. The slices that fn gets are used again for the next row, so that a caller
// that keeps them is found out.
func (t *memoryTable) Load(fn func(Row) error) error {
	t.m.mu.Lock()
	if t.m.state != memoryOpen {
		t.m.mu.Unlock()
		return t.m.closedError()
	}
	rows, check := t.rows.Copy(), t.m.loads
	t.m.mu.Unlock()

	if check == nil {
		check = func(string, int) error { return nil }
	}
	var row Row
	n, err := 0, check(t.name, 0)
	if err != nil {
		return err
	}
	rows.Scan(func(k, v string) bool {
		row.Key = append(row.Key[:0], k...)
		row.Value = append(row.Value[:0], v...)
		if err = fn(row); err == nil {
			n++
			err = check(t.name, n)
		}
		return err == nil
	})
	return err
}

// Commit implements Table.
func (t *memoryTable) Commit(rows []Row, done func(error)) {
	m := t.m
	m.mu.Lock()
	switch m.state {
	case memoryCrashed:
		m.mu.Unlock()
		return
	case memoryClosed:
		m.mu.Unlock()
		done(m.closedError())
		return
	}
	m.queue = append(m.queue, memoryBatch{table: t, rows: rows, done: done, err: CheckRows(m.Dir(), rows)})
	auto := m.auto
	m.mu.Unlock()
	if auto {
		m.Flush()
	}
}
