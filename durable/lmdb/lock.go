package lmdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/coterie-go/coterie/durable"
)

// dirLock keeps a directory to one Env of one process. LMDB's own lock file does not: it lets many
// processes in by design, mistakes two containers for one process when their pids are equal, and
// loses its locks when one process opens it twice and closes one.
//
// The lock is a flock on a file of ours, which the kernel drops when its holder dies, however it
// dies. The file tells the process id of the holder to a process that is refused. Beside it stands
// a table of the directories open in this process. A network file system may turn a flock into a
// lock of the whole process, which a second opening passes and the first closing drops.
type dirLock struct {
	file *os.File
	id   dirID
}

// dirID names a directory whatever path leads to it.
type dirID struct{ device, inode uint64 }

var openDirs = struct {
	sync.Mutex
	ids map[dirID]bool
}{ids: make(map[dirID]bool)}

// lockDir takes the directory, which exists.
func lockDir(dir string) (*dirLock, error) {
	id, err := identify(dir)
	if err != nil {
		return nil, unwritable(dir, "", err)
	}
	openDirs.Lock()
	defer openDirs.Unlock()
	if openDirs.ids[id] {
		return nil, inUse(dir, os.Getpid(), "this process has it open already")
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, unwritable(path, "", err)
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			pid, who := holder(f)
			return nil, inUse(dir, pid, who)
		}
		return nil, unwritable(path, "the file system has no working locks", err)
	}
	l := &dirLock{file: f, id: id}
	// the lock holds without a signature, and a full disk is no reason not to start
	if err := l.sign(); err != nil && !noRoom(err) {
		f.Close()
		return nil, unwritable(path, "", err)
	}
	openDirs.ids[id] = true
	return l, nil
}

func identify(dir string) (dirID, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return dirID{}, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return dirID{device: uint64(st.Dev), inode: st.Ino}, nil
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

// sign writes which process holds the lock.
func (l *dirLock) sign() error {
	host, _ := os.Hostname() // a courtesy to the reader; without it the line is shorter
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(fmt.Sprintf("%d %s\n", os.Getpid(), host)), 0)
	return err
}

// holder reads what sign wrote. Between the holder's flock and its signature, and when the disk was
// full, there is nothing to read; then the pid is 0.
func holder(f *os.File) (pid int, who string) {
	line := make([]byte, 512)
	n, _ := f.ReadAt(line, 0)
	fields := strings.Fields(string(line[:n]))
	if len(fields) == 0 {
		return 0, "another process has it open"
	}
	pid, _ = strconv.Atoi(fields[0])
	who = "process " + fields[0]
	if len(fields) > 1 {
		who += " on host " + fields[1]
	}
	return pid, who + " has it open"
}

// release gives the directory back. The file stays: removing it would let two processes lock two
// files of one name.
func (l *dirLock) release() error {
	openDirs.Lock()
	defer openDirs.Unlock()
	delete(openDirs.ids, l.id)
	_ = l.file.Truncate(0) // a stale signature misleads no process, for it is read only when the lock is held
	return l.file.Close()
}

func inUse(dir string, pid int, who string) error {
	return &durable.Error{Kind: durable.ErrInUse, Path: dir, PID: pid, Detail: who,
		Remedy: "stop that process, or give this node a directory of its own"}
}

func unwritable(path, detail string, cause error) error {
	if noRoom(cause) {
		return &durable.Error{
			Kind: durable.ErrFull, Path: path, Detail: detail, Cause: cause,
			Remedy: "make room on the disk or raise the limit, and start again",
		}
	}
	return &durable.Error{Kind: durable.ErrUnwritable, Path: path, Detail: detail, Cause: cause,
		Remedy: "give this node a directory that it may make, read and write, on a local disk"}
}
