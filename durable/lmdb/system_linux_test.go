package lmdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

func init() {
	children["limited"], children["tinydisk"], children["inherit"] = fillBelowLimit, fillTinyDisk, listDescriptors
}

// A full disk fails commits and nothing else: what was acknowledged stays readable, and commits go
// on once there is room. The child runs below a limit of the size of files, because that needs no
// rights.
func TestFileSizeLimit(t *testing.T) {
	t.Log(startChild(t, "limited", t.TempDir()).finish(t))
}

// The same on a real disk of 5 MB that the child mounts for itself alone. Where a machine does not
// let it, the log says so and the test above stands for both.
func TestTinyDisk(t *testing.T) {
	c := newChild("tinydisk", t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := c.begin(); err != nil {
		t.Logf("no user namespace: %v", err)
		return
	}
	t.Log(c.finish(t))
}

func fillBelowLimit(dir string) error {
	const full = 4 << 20
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: full, Max: was.Max}); err != nil {
		return err
	}
	return fill(dir, func() error { return nil }, func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) })
}

func fillTinyDisk(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=5m"); err != nil {
		fmt.Println("no right to mount:", err)
		return nil
	}
	takeRest := func() error {
		if err := stuff(filepath.Join(dir, "log")); err != nil {
			return err
		}
		_, err := Open(filepath.Join(dir, "fresh"), Options{}) // one that has nothing yet can not start, and says why
		if !errors.Is(err, durable.ErrFull) || !strings.Contains(err.Error(), "make room") {
			return fmt.Errorf("a fresh directory on a full disk: %w", err)
		}
		return nil
	}
	return fill(dir, takeRest, func() error {
		return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m")
	})
}

// stuff takes the last byte of a disk, as other writers do.
func stuff(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// fill commits until the disk is full, several times over, looks at what is there each time, makes
// room and goes on.
func fill(dir string, takeRest, makeRoom func() error) error {
	e, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	tbl, err := e.Table("t")
	if err != nil {
		return err
	}
	acked, refusals := 0, 0
	for try := 0; refusals < 20; try++ {
		switch err := commit(tbl, row(fmt.Sprintf("%06d", acked), 1000*(1+try%9)),
			row(fmt.Sprintf("%06d", acked+1), 10)); {
		case err == nil:
			acked += 2
		case errors.Is(err, durable.ErrFull) && strings.Contains(err.Error(), dataName):
			refusals++
			if err := e.SetNote(make([]byte, 1000*refusals)); err != nil {
				return fmt.Errorf("a note on a full disk: %w", err)
			}
			if err := loadsAll(tbl, acked); err != nil {
				return err
			}
		default:
			return fmt.Errorf("after %d rows: %w", acked, err)
		}
	}
	if err := loadsAtOnce(tbl, loadsMax); err != nil {
		return err
	}
	fmt.Printf("%d rows fit; %v", acked, commit(tbl, row("large", 1<<20)))
	if err := e.Close(); err != nil {
		return err
	}
	if err := takeRest(); err != nil {
		return err
	}
	if e, err = Open(dir, Options{}); err != nil { // a full disk is no reason not to start
		return fmt.Errorf("open on a full disk: %w", err)
	}
	if tbl, err = e.Table("t"); err != nil {
		return err
	}
	if err := loadsAll(tbl, acked); err != nil {
		return err
	}
	if err := makeRoom(); err != nil {
		return err
	}
	if err := commit(tbl, row("zzz", 1<<20)); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	return errors.Join(loadsAll(tbl, acked+1), e.Close())
}

// loadsAtOnce has n loads under way at one moment: each takes a slot in LMDB's lock file, which
// must not need room on a full disk.
func loadsAtOnce(tbl durable.Table, n int) error {
	var started, ended sync.WaitGroup
	started.Add(n)
	errs := make([]error, n)
	for i := range n {
		ended.Go(func() {
			first := true
			errs[i] = tbl.Load(func(durable.Row) error {
				if first {
					first = false
					started.Done()
					started.Wait()
				}
				return nil
			})
		})
	}
	ended.Wait()
	return errors.Join(errs...)
}

func loadsAll(tbl durable.Table, want int) error {
	n := 0
	if err := tbl.Load(func(durable.Row) error { n++; return nil }); err != nil {
		return err
	}
	if n != want {
		return fmt.Errorf("%d rows were acknowledged and %d are there", want, n)
	}
	return nil
}

// Descriptors of the store must not live on in a child process: a child that holds the lock keeps
// the directory from the next start of its parent.
func TestChildrenInheritNothing(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, Options{})
	c := startChild(t, "inherit", dir)
	if said := c.finish(t); said != "" {
		t.Errorf("a child process holds\n%s", said)
	}
}

func listDescriptors(dir string) error {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			fmt.Println(to)
		}
	}
	return nil
}
