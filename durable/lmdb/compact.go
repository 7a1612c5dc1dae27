package lmdb

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/bmatsuo/lmdb-go/lmdb"
)

// Compact writes the file of a store anew, however much of it is free. It refuses with
// durable.ErrInUse while a process has the directory open. A directory without a store has nothing
// to compact. An error leaves the file as it was, and so does a cut at any moment, or it leaves the
// new one.
func Compact(dir string, opts Options) (Compacted, error) {
	var got *Compacted
	tell := opts.OnEvent
	opts.OnEvent = func(e Event) {
		if c, ok := e.(Compacted); ok {
			got = &c
		}
		if tell != nil {
			tell(e)
		}
	}
	opts.always = true
	e, err := openExisting(dir, opts)
	if err != nil {
		return Compacted{}, err
	}
	if err := e.Close(); err != nil {
		return Compacted{}, err
	}
	if got == nil {
		return Compacted{File: filepath.Join(e.dir, storeName, dataName)}, nil
	}
	return *got, got.Err
}

// Compacting says how much of the new file a compaction of a directory has written, and how large the
// old one is, of which the new one is a part, in bytes. It only looks at the files, to show progress.
func Compacting(dir string) (written, of int64) {
	size := func(path ...string) int64 {
		s, err := os.Stat(filepath.Join(path...))
		if err != nil {
			return 0
		}
		return s.Size()
	}
	return size(dir, newName), size(dir, storeName, dataName)
}

// maybeCompact writes the file anew when much of it is free, for it never shrinks otherwise: one
// load that lasts through many commits makes it grow many times over. It is done at opening, when
// no caller waits for it long and none reads. A failure, of a full disk say, leaves the file as it
// is.
//
//  1. coterie.new gets a copy of what is needed, through to the disk: a cut leaves the old file,
//     and a copy that the next opening removes.
//  2. The copy takes the file's name: one rename, which leaves the old one or the new one.
//  3. The name goes to the disk. Until then a cut of power may bring back the old file, which holds
//     the same rows, for nothing is written before.
func maybeCompact(h *handle, dir string, id uint64, opts Options) (*handle, error) {
	before, worth, err := worthCompacting(h, opts)
	if err != nil {
		h.close()
		return nil, fault(h.file, err)
	}
	if !worth {
		return h, nil
	}
	fresh, store := filepath.Join(dir, newName), filepath.Dir(h.file)
	step := func(name string, do func() error) {
		if err == nil && opts.test.compacting != nil {
			err = opts.test.compacting(name)
		}
		if err == nil {
			err = do()
		}
	}
	step("copy", func() error { return copyCompact(h, fresh) })
	h.close()
	step("rename", func() error { return os.Rename(fresh, h.file) })
	step("sync", func() error { return syncDir(store) })
	if err != nil {
		_ = os.Remove(fresh) // the next opening removes it otherwise
	}
	h, oerr := openChecked(store, id, opts)
	if oerr != nil {
		return nil, oerr
	}
	after, _ := h.size()
	opts.OnEvent(Compacted{File: h.file, Before: before, After: after, Err: fault(fresh, err)})
	return h, nil
}

func worthCompacting(h *handle, opts Options) (size int64, worth bool, err error) {
	size, err = h.size()
	switch {
	case err != nil || opts.always:
		return size, err == nil, err
	case opts.CompactFree < 0 || size < opts.CompactMin:
		return size, false, nil
	}
	all, free, err := h.used()
	return size, float64(free) > opts.CompactFree*float64(all), err
}

// used says how many bytes the pages of the file take, and how many of them no row needs.
func (h *handle) used() (all, free int64, err error) {
	info, err := h.env.Info()
	if err != nil {
		return 0, 0, err
	}
	stat, err := h.env.Stat()
	if err != nil {
		return 0, 0, err
	}
	pages, err := h.freePages()
	return (info.LastPNO + 1) * int64(stat.PSize), pages * int64(stat.PSize), err
}

// freePages counts the pages that no row needs. LMDB keeps them as rows of its table 0: a value is
// a list of page numbers, its length in front.
func (h *handle) freePages() (int64, error) {
	const freeTable lmdb.DBI = 0
	var pages int64
	err := h.view(func(txn *lmdb.Txn) error {
		cur, err := txn.OpenCursor(freeTable)
		if err != nil {
			return err
		}
		defer cur.Close()
		for {
			_, list, err := cur.Get(nil, nil, lmdb.Next)
			if lmdb.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			pages += listLen(list)
		}
	})
	return pages, err
}

// listLen reads the first word of a list, a size_t.
func listLen(list []byte) int64 {
	switch {
	case bits.UintSize == 64 && len(list) >= 8:
		return int64(binary.NativeEndian.Uint64(list))
	case bits.UintSize == 32 && len(list) >= 4:
		return int64(binary.NativeEndian.Uint32(list))
	}
	return 0
}

// copyCompact writes what is needed of the file to another one, through to the disk.
func copyCompact(h *handle, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	err = h.env.CopyFDFlag(f.Fd(), lmdb.CopyCompact)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
