package lmdb

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/coterie-go/coterie/durable"
)

// Env is a store in a directory. Open makes one; see durable.Env for its laws.
type Env struct {
	dir    string
	lock   *dirLock
	h      *handle
	writer *writer
	loads  chan struct{} // a slot per load, fewer than LMDB has readers

	mu     sync.Mutex // guards tables, and makes a table once
	tables map[string]*table

	closing sync.Once
}

// loadsMax bounds the loads at one time.
const loadsMax = 64

var _ durable.Env = (*Env)(nil)

// Open opens the store in dir and makes one when dir is missing or empty. Errors match durable.ErrInUse, ErrForeign, ErrVersion, ErrCorrupt, ErrUnwritable,
// ErrFull or ErrIO. Close it, or the goroutine that writes stays.
func Open(dir string, opts Options) (*Env, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, unwritable(dir, "", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	h, err := openStore(dir, opts)
	if err != nil {
		lock.release()
		return nil, err
	}
	e := &Env{dir: dir, lock: lock, h: h, tables: make(map[string]*table), loads: make(chan struct{}, loadsMax)}
	e.writer = startWriter(h, dir, opts)
	return e, nil
}

// openStore makes, checks and when it is worth it compacts the store in a locked directory.
func openStore(dir string, opts Options) (*handle, error) {
	if err := os.RemoveAll(filepath.Join(dir, newName)); err != nil {
		return nil, unwritable(filepath.Join(dir, newName), "", err)
	}
	if !Exists(dir) {
		if err := makeStore(dir, opts); err != nil {
			return nil, err
		}
	}
	store := filepath.Join(dir, storeName)
	h, err := openChecked(store, opts)
	if err != nil {
		return nil, err
	}
	return maybeCompact(h, dir, opts)
}

// openChecked opens a store that was made earlier, and refuses whatever is not one of ours and whole.
func openChecked(store string, opts Options) (*handle, error) {
	if err := checkFormat(store); err != nil {
		return nil, err
	}
	if err := checkData(store); err != nil {
		return nil, err
	}
	h, err := openHandle(store, opts)
	if err != nil {
		return nil, err
	}
	err = h.checkWhole()
	if err == nil {
		err = h.checkRow()
	}
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// Table implements durable.Env. A table that was not asked for before waits its turn behind the batches that wait.
func (e *Env) Table(name string) (durable.Table, error) {
	if err := durable.CheckName(e.dir, name); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.tables[name]; t != nil && !e.writer.isClosed() {
		return t, nil
	}
	dbi, err := e.writer.openTable(name)
	if err != nil {
		return nil, err
	}
	t := &table{env: e, dbi: dbi, name: name}
	e.tables[name] = t
	return t, nil
}

// Dir implements durable.Env: the absolute path that Open was given.
func (e *Env) Dir() string { return e.dir }

// Close implements durable.Env.
func (e *Env) Close() error {
	e.closing.Do(func() {
		e.writer.stop()
		e.h.close()
		e.lock.release()
	})
	return nil
}

// Stats are counts since Open, and sizes.
type Stats struct {
	Commits uint64 // transactions that became durable
	Batches uint64 // batches in them
	Rows    uint64 // rows in them
	Failed  uint64 // batches whose transaction failed
	Refused uint64 // batches that were never tried: overload, bad rows, too large
	Queued  int    // bytes that wait
	MapSize int64  // bytes of address space
	File    int64  // bytes of the file; it never shrinks but by compaction at Open
}

// Stats says what the store did and holds. After Close the sizes are zero.
func (e *Env) Stats() Stats {
	s := e.writer.stats()
	e.h.gate.RLock()
	defer e.h.gate.RUnlock()
	if e.h.env != nil {
		s.MapSize = e.h.mapSize
		s.File, _ = e.h.size()
	}
	return s
}
