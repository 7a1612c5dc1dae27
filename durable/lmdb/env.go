package lmdb

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/durable"
)

// Env is the directory of a node, held by this process, with the store in it if there is one. Open
// makes one; see durable.Env for its laws.
//
//	no store ──first batch with rows──► store
//
// A directory without a store has empty tables. The store is made by the writer, in front of the
// first batch; when that fails, the batch has failed, and the next one tries again.
type Env struct {
	dir    string
	opts   Options
	lock   *dirLock
	node   *nodeFile
	mark   mark
	idle   time.Duration          // see Idle
	ended  bool                   // see Ended
	h      atomic.Pointer[handle] // nil: no store yet; set by Open or else by the writer
	writer *writer
	loads  chan struct{} // a slot per load, fewer than LMDB has readers

	mu     sync.Mutex // guards tables, and makes a table once
	tables map[string]*table

	closing sync.Once
}

// loadsMax bounds the loads at one time.
const loadsMax = 64

var _ durable.Env = (*Env)(nil)

// Open takes the directory, which is made when it is missing, and opens the store if there is one.
// Errors match durable.ErrInUse, ErrForeign, ErrVersion, ErrCorrupt, ErrUnwritable, ErrFull or
// ErrIO. Close it, or the goroutine that writes stays.
func Open(dir string, opts Options) (*Env, error) {
	opts, err := opts.WithDefaults()
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
	e := &Env{
		dir: dir, opts: opts, lock: lock, mark: mark{path: filepath.Join(dir, markName), clock: kernelClock},
		tables: make(map[string]*table), loads: make(chan struct{}, loadsMax),
	}
	if err := e.open(); err != nil {
		if e.node != nil {
			e.node.close()
		}
		lock.release()
		return nil, err
	}
	e.writer = startWriter(e)
	return e, nil
}

// OpenExisting is Open for looking after the directory of a node that is not running: it makes no
// directory and compacts nothing. A directory that no node has used is durable.ErrForeign.
func OpenExisting(dir string, opts Options) (*Env, error) {
	opts.CompactFree = -1
	return openExisting(dir, opts)
}

func openExisting(dir string, opts Options) (*Env, error) {
	if !Exists(dir) {
		return nil, &durable.Error{Kind: durable.ErrForeign, Path: dir,
			Detail: "no node has used it: it has no " + nodeName,
			Remedy: "give the directory that the node has as its Config.Dir"}
	}
	return Open(dir, opts)
}

// open reads what is in the locked directory, removes what was left in the making, and when it is
// worth it compacts the store.
func (e *Env) open() (err error) {
	for _, name := range []string{newName, nodeNewName} {
		if err := os.RemoveAll(filepath.Join(e.dir, name)); err != nil {
			return unwritable(filepath.Join(e.dir, name), "", err)
		}
	}
	if e.node, err = openNode(e.dir); err != nil {
		return err
	}
	e.idle, e.ended = e.mark.read(e.node.identity())
	store := filepath.Join(e.dir, storeName)
	if !storeExists(e.dir) {
		if e.node.get().Made {
			return corrupt(store, "it is missing", nil)
		}
		return nil
	}
	h, err := openChecked(store, e.ID(), e.opts)
	if err == nil {
		h, err = maybeCompact(h, e.dir, e.ID(), e.opts)
	}
	if err == nil {
		err = e.adopt(h)
	}
	return err
}

// adopt notes that there is a store before anything is written to it, and makes it the one that is
// used.
func (e *Env) adopt(h *handle) error {
	if !e.node.get().Made {
		if err := e.node.put(func(s *nodeState) { s.Made = true }); err != nil {
			h.close()
			return err
		}
	}
	e.h.Store(h)
	return nil
}

// store returns the store, and makes it when there is none. Only the writer calls it.
func (e *Env) store() (*handle, error) {
	if h := e.h.Load(); h != nil {
		return h, nil
	}
	if !storeExists(e.dir) { // else it was made, and could not be noted
		if err := makeStore(e.dir, e.ID(), e.opts); err != nil {
			return nil, err
		}
	}
	h, err := openChecked(filepath.Join(e.dir, storeName), e.ID(), e.opts)
	if err == nil {
		err = e.adopt(h)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// openChecked opens a store that was made earlier, and refuses whatever is not one of ours and
// whole.
func openChecked(store string, id uint64, opts Options) (*handle, error) {
	if err := checkFormat(store); err != nil {
		return nil, err
	}
	if err := checkData(store); err != nil {
		return nil, err
	}
	if err := checkFile(filepath.Join(store, dataName)); err != nil {
		return nil, err
	}
	h, err := openHandle(store, opts)
	if err != nil {
		return nil, err
	}
	if err := h.checkRow(id); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// Table implements durable.Env. Where there is a store, a table that was not asked for before waits
// its turn behind the batches that wait. ErrTables says that Options.MaxTables are open.
func (e *Env) Table(name string) (durable.Table, error) {
	if err := durable.CheckName(e.dir, name); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.writer.isClosed() {
		return nil, closedError(e.dir)
	}
	if t := e.tables[name]; t != nil {
		return t, nil
	}
	if len(e.tables) == e.opts.MaxTables {
		return nil, &durable.Error{Kind: durable.ErrTables, Path: e.dir,
			Detail: fmt.Sprintf("%d are open", e.opts.MaxTables),
			Remedy: "raise Options.MaxTables"}
	}
	t := &table{env: e, name: name}
	if e.h.Load() != nil {
		if err := e.writer.openTable(t); err != nil {
			return nil, err
		}
	}
	e.tables[name] = t
	return t, nil
}

// Dir implements durable.Env: the absolute path that Open was given.
func (e *Env) Dir() string { return e.dir }

// ID names the directory and what is in it. It was drawn when the directory was made; after Remove
// there is another one.
func (e *Env) ID() uint64 { return e.node.get().ID }

// Note returns what SetNote put last, nil at first. The caller must not change it.
func (e *Env) Note() []byte { return e.node.get().Note }

// SetNote keeps up to NoteMax bytes beside the rows, and returns when they are on the disk. It
// needs no store and makes none, and no room on a disk that is full; it does not wait for batches.
// The bytes belong to the Env from then on.
func (e *Env) SetNote(note []byte) error {
	if len(note) > NoteMax {
		return &durable.Error{Kind: durable.ErrTooLarge, Path: e.node.path,
			Detail: fmt.Sprintf("a note of %d bytes, at most %d fit", len(note), NoteMax),
			Remedy: "this is a mistake of the caller; nothing was written"}
	}
	return e.node.put(func(s *nodeState) { s.Note = note })
}

// Close implements durable.Env.
func (e *Env) Close() error {
	e.closing.Do(func() {
		e.writer.stop()
		if h := e.h.Load(); h != nil {
			h.close()
		}
		e.node.close()
		e.mark.close()
		e.lock.release()
	})
	return nil
}
