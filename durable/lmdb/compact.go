package lmdb

import (
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/bmatsuo/lmdb-go/lmdb"
)

// compactMin is the size from which a file that is mostly free is written anew.
const compactMin = 64 << 20

// maybeCompact writes the file anew when more than half of its pages are free, for it never shrinks otherwise: one load that lasts through many commits makes it grow
// many times over. It is done at opening, when nobody waits for it long and nobody reads. A failure, of a full disk say, leaves the file as it is.
func maybeCompact(h *handle, dir string, opts Options) (*handle, error) {
	before, worth, err := worthCompacting(h, opts.test.compactMin)
	if err != nil {
		h.close()
		return nil, fault(h.file, err)
	}
	if !worth {
		return h, nil
	}
	fresh := filepath.Join(dir, newName)
	if err = opts.test.compactFault; err == nil {
		err = copyCompact(h, fresh)
	}
	h.close()
	if err == nil {
		err = os.Rename(fresh, h.file)
	}
	store := filepath.Dir(h.file)
	if err == nil {
		err = syncDir(store)
	}
	if err != nil {
		_ = os.Remove(fresh) // the next opening removes it otherwise
	}
	h, oerr := openChecked(store, opts)
	if oerr != nil {
		return nil, oerr
	}
	after, _ := h.size()
	opts.Observer.compacted(Compacted{File: h.file, Before: before, After: after, Err: err})
	return h, nil
}

func worthCompacting(h *handle, minSize int64) (size int64, worth bool, err error) {
	size, err = h.size()
	if err != nil || size < minSize {
		return size, false, err
	}
	info, err := h.env.Info()
	if err != nil {
		return size, false, err
	}
	free, err := h.freePages()
	return size, 2*free > info.LastPNO+1, err
}

// freePages counts the pages that no row needs. LMDB keeps them as rows of its table 0: a value is a list of page numbers, its length in front.
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
