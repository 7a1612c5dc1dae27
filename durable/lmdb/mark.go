package lmdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/zeebo/xxh3"
)

// mark is the file that says until when the holder of a directory may be at work. The next holder
// learns from it for how long nothing has been done here, after a kill too.
//
//	title      "coterie mark 1\n\x00"
//	checksum 8 of all other bytes
//	clock 16   which clock the times are of; see moment
//	id 8       of the directory
//	change 8   number of the slot that counted in the node file
//	file 16    device and inode of this file: a copy is no mark
//	until 8    nanoseconds, on the clock that is never set
//	wall 8     the same moment in wall time
//
// Each holder makes the file anew, and then writes it in place. It is not synced: a write is in the
// page cache when it returns, and outlives the process there. It need not outlive the kernel, for
// the clock does not either. Integers are big-endian.
type mark struct {
	path  string
	clock func() (moment, bool)

	mu     sync.Mutex
	file   *os.File // nil until the first mark
	own    dirID    // of file
	closed bool
}

const (
	markTitle = "coterie mark 1\n\x00"
	markSize  = 88
)

// moment is a reading of the clocks that go on when a process ends.
type moment struct {
	clock [16]byte // names the clock; another boot, or another time namespace, has another one
	since int64    // nanoseconds on it
	wall  int64    // nanoseconds of wall time
}

// marked is what a mark says.
type marked struct {
	until      moment
	id, change uint64
	file       dirID
}

func (m marked) encode() []byte {
	b := make([]byte, 0, markSize)
	b = append(b, markTitle...)
	b = append(b, make([]byte, 8)...)
	b = append(b, m.until.clock[:]...)
	for _, n := range []uint64{
		m.id, m.change, m.file.device, m.file.inode, uint64(m.until.since), uint64(m.until.wall),
	} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	binary.BigEndian.PutUint64(b[16:], markSum(b))
	return b
}

// markSum is the checksum of a mark, whose own field counts as zero.
func markSum(b []byte) uint64 {
	h := xxh3.New()
	_, _ = h.Write(b[:16])
	_, _ = h.Write(b[24:])
	return h.Sum64()
}

func decodeMark(b []byte) (m marked, ok bool) {
	if len(b) != markSize || !bytes.HasPrefix(b, []byte(markTitle)) || binary.BigEndian.Uint64(b[16:]) != markSum(b) {
		return m, false
	}
	copy(m.until.clock[:], b[24:])
	word := func(i int) uint64 { return binary.BigEndian.Uint64(b[40+8*i:]) }
	m.id, m.change, m.file = word(0), word(1), dirID{device: word(2), inode: word(3)}
	m.until.since, m.until.wall = int64(word(4)), int64(word(5))
	return m, true
}

// idle is how long ago the marked time was, by the clock that says less. The clock that nothing
// sets stands still during a suspend, so it never says too much. Wall time is asked too, in case
// that clock is not what it seems.
func (m marked) idle(now moment) time.Duration {
	return time.Duration(max(0, min(now.since-m.until.since, now.wall-m.until.wall)))
}

// read says for how long nothing has been done in the directory. known reports whether the mark says
// it: whatever is odd about that, or another clock, makes it 0 and not known.
func (k *mark) read(id, change uint64) (idle time.Duration, known bool) {
	f, err := os.OpenFile(k.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	file, err := plainFile(f)
	if err != nil {
		return 0, false
	}
	content, err := io.ReadAll(io.LimitReader(f, markSize+1))
	if err != nil {
		return 0, false
	}
	m, ok := decodeMark(content)
	now, clocked := k.clock()
	if !ok || !clocked || now.clock != m.until.clock || m.id != id || m.change != change || m.file != file {
		return 0, false
	}
	return m.idle(now), true
}

// put notes that the holder may be at work for ahead from now. known is false where no clock
// outlives the process.
func (k *mark) put(id, change uint64, ahead time.Duration) (known bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, known := k.clock()
	if !known {
		return false, nil
	}
	if k.closed {
		return true, closedError(filepath.Dir(k.path))
	}
	if k.file == nil {
		if err := k.make(); err != nil {
			return true, err
		}
	}
	now.since += int64(ahead)
	now.wall += int64(ahead)
	if _, err := k.file.WriteAt(marked{until: now, id: id, change: change, file: k.own}.encode(), 0); err != nil {
		return true, fault(k.path, err)
	}
	return true, nil
}

// make makes the file anew, whatever lies there.
func (k *mark) make() error {
	if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(k.path, "", err)
	}
	f, err := os.OpenFile(k.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return unwritable(k.path, "", err)
	}
	if k.own, err = plainFile(f); err != nil {
		f.Close()
		return fault(k.path, err)
	}
	k.file = f
	return nil
}

// remove takes the mark away. The next holder then knows nothing.
func (k *mark) remove() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return closedError(filepath.Dir(k.path))
	}
	k.release()
	if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(k.path, "", err)
	}
	return nil
}

// close ends the marks of this holder. The last one stays.
func (k *mark) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.release()
	k.closed = true
}

func (k *mark) release() {
	if k.file != nil {
		_ = k.file.Close()
		k.file = nil
	}
}

// plainFile names an open file. A second name of it would stand for a copy.
func plainFile(f *os.File) (dirID, error) {
	var st syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &st); err != nil {
		return dirID{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Nlink != 1 {
		return dirID{}, fmt.Errorf("%s is no plain file", f.Name())
	}
	return dirID{device: uint64(st.Dev), inode: st.Ino}, nil
}

// Idle is for how long, at least, no holder had done anything with this directory when Open took
// it. It is 0 when that is not known: the last holder called no Mark, another kernel or another
// boot made the mark, or the file is damaged or a copy.
func (e *Env) Idle() time.Duration { return e.idle }

// Ended reports whether the last holder has ended for certain. Its mark is of this kernel and this boot,
// and its lock is gone. On another machine, a lock says nothing of a holder that still runs.
func (e *Env) Ended() bool { return e.ended }

// Mark notes that this holder may be at work until ahead from now, so that after a kill the next
// one can tell since when nothing has been done. It returns when the next holder would find that.
// It does not wait for a sync. known is false where no clock outlives a process; the directory then
// has no mark.
//
// After an error the directory may have an older mark; see Unmark.
func (e *Env) Mark(ahead time.Duration) (known bool, err error) {
	id, change := e.node.identity()
	if known, err = e.mark.put(id, change, ahead); known || err != nil {
		return known, err
	}
	return false, e.Unmark()
}

// Unmark takes the mark back: the next holder does not know since when nothing has been done.
func (e *Env) Unmark() error { return e.mark.remove() }
