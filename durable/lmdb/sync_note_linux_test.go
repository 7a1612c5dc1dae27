package lmdb

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/coterie-go/coterie/durable"
)

// onBrokenDisk runs fn on a thread of its own on which fsync fails with EIO.
func onBrokenDisk(t *testing.T, fn func()) {
	t.Helper()
	filtered(t, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(syscall.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}, fn)
}

// withoutReading runs fn on a thread of its own on which nothing opens for reading alone: it fails
// with EIO. A directory is opened so before it is synced.
func withoutReading(t *testing.T, fn func()) {
	t.Helper()
	const flagsAt = 16 + 2*8 // the lower half of the third argument, on a machine with the low bytes first
	filtered(t, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_OPENAT, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flagsAt},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.O_WRONLY | unix.O_RDWR, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(syscall.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}, fn)
}

// filtered runs fn on a thread of its own with a filter of system calls. The thread ends with its
// goroutine, because that stays locked to it.
func filtered(t *testing.T, filter []unix.SockFilter, fn func()) {
	t.Helper()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
		}
		if err == nil {
			fn()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal("a filter of system calls: ", err)
	}
	runtime.KeepAlive(filter)
}

// A note is on the disk when SetNote returns nil: one whose fsync fails is refused, and the note
// before it counts.
func TestANoteThatIsNotSyncedIsRefused(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{})
	if err := e.SetNote([]byte("first")); err != nil {
		t.Fatal(err)
	}
	onBrokenDisk(t, func() {
		err := e.SetNote([]byte("second"))
		if !errors.Is(err, durable.ErrIO) || !errors.Is(err, syscall.EIO) ||
			!strings.Contains(err.Error(), filepath.Join(dir, nodeName)) {
			t.Errorf("a note that was not synced: %v", err)
		}
	})
	if got := string(e.Note()); got != "first" {
		t.Errorf("the note is %q", got)
	}
	if err := errors.Join(e.SetNote([]byte("third")), e.Close()); err != nil {
		t.Fatal(err)
	}
	if got := string(mustOpen(t, dir, Options{}).Note()); got != "third" {
		t.Errorf("the note is %q", got)
	}
}

// What is renamed into place was synced before: a node file whose fsync fails is not made.
func TestANodeFileThatIsNotSyncedIsNotMade(t *testing.T) {
	dir := t.TempDir()
	onBrokenDisk(t, func() {
		if e, err := Open(dir, Options{}); !errors.Is(err, syscall.EIO) {
			t.Errorf("opened: %v", err)
			_ = e.Close()
		}
	})
	if _, err := os.Stat(filepath.Join(dir, nodeName)); err == nil {
		t.Error("there is a node file")
	}
	mustOpen(t, dir, Options{})
}

// A name counts when its directory was synced: one that cannot be is an error. Else the node file
// could be lost with its number, and a store would stand there without it.
func TestADirectoryThatIsNotSyncedIsAnError(t *testing.T) {
	dir := t.TempDir()
	withoutReading(t, func() {
		if err := makeNode(dir); !errors.Is(err, syscall.EIO) || !errors.Is(err, durable.ErrIO) {
			t.Errorf("made: %v", err)
		}
	})
	mustOpen(t, dir, Options{})
}
