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

// onBrokenDisk runs fn on a thread of its own on which fsync fails with EIO: a filter of system
// calls answers it. The thread ends with its goroutine, because that stays locked to it.
func onBrokenDisk(t *testing.T, fn func()) {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(syscall.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
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
