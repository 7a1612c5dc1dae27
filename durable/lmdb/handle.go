package lmdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// handle is an open LMDB environment behind the few calls that are safe in this version of it. What
// is not here must not be used:
//
//   - View and Update only. A transaction that is begun by hand and forgotten crashes the process
//     when the garbage collector meets it.
//   - One goroutine per transaction: they share scratch memory.
//   - Reads copy, except in eachRow and in Moment, which copy themselves. A raw slice dies with its transaction,
//     and one of an empty value at the end of the file kills the process.
//   - A write transaction only puts and deletes; a cursor in it can give wrong answers after a
//     write.
//   - Tables are opened in an Update: making one in a View crashes.
//   - Values are never empty.
type handle struct {
	env  *lmdb.Env
	fd   uintptr
	file string // data.mdb, for messages
	tell func(Event)

	// gate lets many views in, or one change to the map: changing it under a view crashes the view.
	// The writer's own transactions need no gate, for only the writer changes the map.
	gate    sync.RWMutex
	mapSize int64
	lost    error // the map could not be mapped again; nothing may touch env but close
}

var (
	formatTable = "format"
	formatKey   = []byte("format")
	formatValue = []byte{formatVersion}
	idKey       = []byte("id")
)

// idValue is the id of a directory behind a format byte.
func idValue(id uint64) []byte { return binary.BigEndian.AppendUint64([]byte{formatVersion}, id) }

// tableName is the name that LMDB knows a table by, apart from those that are not the users'.
func tableName(name string) string { return "table/" + name }

// openHandle opens the environment in store and makes an empty one when there is none; see
// checkData.
func openHandle(store string, opts Options) (*handle, error) {
	h := &handle{file: filepath.Join(store, dataName), tell: opts.OnEvent}
	if err := resetReaders(store); err != nil {
		return nil, err
	}
	for size := opts.MapSize; ; size /= 2 {
		err := h.open(store, size, opts.MaxTables)
		if err == nil {
			return h, nil
		}
		if !lmdb.IsErrnoSys(err, syscall.ENOMEM) || size/2 < mapSizeMin {
			return nil, fault(h.file, err)
		}
	}
}

// resetReaders writes LMDB's lock file anew. No other process has it open, for the directory is
// locked, so what it says is stale. LMDB writes to it through a map: were its blocks not there
// before, the first load on a full disk would kill the process.
func resetReaders(store string) error {
	const size = 16 << 10 // slots for more than 200 views at a time
	// the file system has set the blocks aside; what they hold is worth nothing after a cut
	reserved := func(*os.File) error { return nil }
	return write(filepath.Join(store, readerName), make([]byte, size), reserved)
}

func (h *handle) open(store string, size int64, maxTables int) error {
	env, err := lmdb.NewEnv()
	if err != nil {
		return err
	}
	if err := h.configure(env, store, size, maxTables); err != nil {
		env.Close()
		return err
	}
	h.env, h.mapSize = env, size
	return nil
}

func (h *handle) configure(env *lmdb.Env, store string, size int64, maxTables int) error {
	if err := env.SetMapSize(size); err != nil {
		return err
	}
	if err := env.SetMaxDBs(maxTables + 1); err != nil { // one is ours
		return err
	}
	syscall.ForkLock.RLock() // no child process may start before the descriptor is marked
	defer syscall.ForkLock.RUnlock()
	if err := env.Open(store, 0, fileMode); err != nil {
		return err
	}
	fd, err := env.FD()
	if err != nil {
		return err
	}
	h.fd = fd
	syscall.CloseOnExec(int(fd))
	return nil
}

// writeFormat marks a new environment as that of a directory of ours.
func (h *handle) writeFormat(id uint64) error {
	return h.update(func(txn *lmdb.Txn) error {
		dbi, err := txn.OpenDBI(formatTable, lmdb.Create)
		if err == nil {
			err = txn.Put(dbi, formatKey, formatValue, 0)
		}
		if err == nil {
			err = txn.Put(dbi, idKey, idValue(id), 0)
		}
		return err
	})
}

// checkRow refuses an environment without our mark, with the mark of another version, or of another
// directory.
func (h *handle) checkRow(id uint64) error {
	var got, of []byte
	err := h.update(func(txn *lmdb.Txn) error {
		dbi, err := txn.OpenDBI(formatTable, 0)
		if err == nil {
			got, err = txn.Get(dbi, formatKey)
		}
		if err == nil && len(got) > 0 && got[0] == formatVersion {
			of, err = txn.Get(dbi, idKey)
		}
		return err
	})
	switch {
	case lmdb.IsNotFound(err), err == nil && len(got) == 0:
		return corrupt(h.file, "it was not made by this library", nil)
	case err != nil:
		return fault(h.file, err)
	case got[0] != formatVersion:
		return &durable.Error{Kind: durable.ErrVersion, Path: h.file,
			Detail: fmt.Sprintf("it has format %d and this program knows %d", got[0], formatVersion),
			Remedy: remedyVersion}
	case !bytes.Equal(of, idValue(id)):
		return corrupt(h.file, fmt.Sprintf("it belongs to another directory than %s beside it", nodeName), nil)
	}
	return nil
}

// openTable opens a table. One that is missing is made, or else left missing with a dbi of 0, which
// LMDB keeps for itself. Only the writer calls it.
func (h *handle) openTable(name string, create bool) (dbi lmdb.DBI, err error) {
	var flags uint
	if create {
		flags = lmdb.Create
	}
	err = h.update(func(txn *lmdb.Txn) (err error) {
		dbi, err = txn.OpenDBI(tableName(name), flags)
		return err
	})
	switch {
	case lmdb.IsNotFound(err) && !create:
		return 0, nil
	case err != nil:
		return 0, fault(h.file, h.explain(err))
	}
	return dbi, nil
}

// tables lists the names of the tables in the file.
func (h *handle) tables() (names []string, err error) {
	err = h.view(func(txn *lmdb.Txn) error {
		root, err := txn.OpenRoot(0) // it is open always, so that this makes nothing
		if err != nil {
			return err
		}
		cur, err := txn.OpenCursor(root)
		if err != nil {
			return err
		}
		defer cur.Close()
		for {
			k, _, err := cur.Get(nil, nil, lmdb.Next)
			if lmdb.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if name, ours := strings.CutPrefix(string(k), tableName("")); ours {
				names = append(names, name)
			}
		}
	})
	return names, fault(h.file, err)
}

// update runs fn in a write transaction, again whenever the map had to grow for it. The error is as
// LMDB gave it.
func (h *handle) update(fn lmdb.TxnOp) error {
	for h.lost == nil {
		err := h.env.Update(fn)
		if !lmdb.IsMapFull(err) {
			return err
		}
		h.grow()
	}
	return h.lost
}

// grow doubles the map when no view is open.
func (h *handle) grow() {
	h.gate.Lock()
	defer h.gate.Unlock()
	from, to := h.mapSize, h.mapSize*2
	if to > mapSizeMax {
		h.lost = &durable.Error{Kind: durable.ErrIO, Path: h.file,
			Detail: fmt.Sprintf("the map of %d bytes is full and can not grow", from),
			Remedy: "nothing larger can be mapped on this machine; restart this process with less data"}
		return
	}
	if err := h.env.SetMapSize(to); err != nil {
		// LMDB has let go of the old map by now.
		h.lost = &durable.Error{Kind: durable.ErrIO, Path: h.file,
			Detail: fmt.Sprintf("the map can not grow from %d to %d bytes", from, to), Cause: err,
			Remedy: "raise the limit of address space (ulimit -v) and restart this process"}
		return
	}
	h.mapSize = to
	h.tell(MapGrown{File: h.file, From: from, To: to})
}

// view runs fn in a read transaction. A handle that lost its map refuses.
func (h *handle) view(fn lmdb.TxnOp) error {
	h.gate.RLock()
	defer h.gate.RUnlock()
	if h.lost != nil {
		return h.lost
	}
	return h.env.View(fn)
}

// explain turns EIO into the error behind it when the disk is full: the system writes what still
// fits and LMDB calls a short write EIO. So we ask for room behind the end of the file, where
// nothing refers to, and give it back.
func (h *handle) explain(err error) error {
	if !lmdb.IsErrnoSys(err, syscall.EIO) {
		return err
	}
	size, serr := h.size()
	if serr != nil {
		return err
	}
	const room = 256 << 10 // what LMDB writes in one call
	n, werr := syscall.Pwrite(int(h.fd), make([]byte, room), size)
	if terr := syscall.Ftruncate(int(h.fd), size); terr != nil {
		return err
	}
	switch {
	case werr != nil:
		return werr
	case n < room:
		return syscall.ENOSPC
	}
	return err
}

// size is the length of the file. It asks by descriptor: opening the file a second time is never
// safe beside LMDB's locks.
func (h *handle) size() (int64, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(h.fd), &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: h.file, Err: err}
	}
	return st.Size, nil
}

// close waits for views to end and lets go of the files.
func (h *handle) close() {
	h.gate.Lock()
	defer h.gate.Unlock()
	if h.env != nil {
		h.env.Close()
		h.env = nil
		h.lost = closedError(filepath.Dir(filepath.Dir(h.file)))
	}
}
