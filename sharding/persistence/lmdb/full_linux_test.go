package lmdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

func init() { children["full"], children["read-only"] = writeUntilFull, openReadOnly }

// A full disk fails writes and nothing else, and they go on when there is room. The child runs below
// a limit of the size of files.
func TestFullDisk(t *testing.T) {
	c := startChild(t, "full", t.TempDir())
	for c.out.Scan() {
		t.Log(c.out.Text())
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err, c.stderr.String())
	}
}

func writeUntilFull(dir string) error {
	const full = 4 << 20
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: full, Max: was.Max}); err != nil {
		return err
	}
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	after, body := uint64(0), strings.Repeat("x", 50_000)
	for ; err == nil && after < 1000; after++ {
		err = s.store(first, write("e", after, body))
	}
	if after--; !errors.Is(err, durable.ErrFull) {
		return fmt.Errorf("after %d writes: %w", after, err)
	}
	events, err := s.bodies("e")
	if err != nil || uint64(len(events)) != after {
		return fmt.Errorf("%d events, want %d: %w", len(events), after, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := s.store(first, write("e", after, body)); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	fmt.Println(after, "writes until the disk was full")
	return s.Close()
}

// A directory that cannot be written is refused, with a remedy. The child mounts one for itself
// alone, because permissions do not bind every account that runs tests. Where a machine does not let
// it, the log says so.
func TestReadOnly(t *testing.T) {
	c := newChild("read-only", t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := c.begin(); err != nil {
		t.Logf("no user namespace: %v", err)
		return
	}
	for c.out.Scan() {
		t.Log(c.out.Text())
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err, c.stderr.String())
	}
}

func openReadOnly(dir string) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		fmt.Println("no right to mount:", err)
		return nil
	}
	used := filepath.Join(dir, "used")
	s, err := Open(used, Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(s.store(first, write("e", 0, "1")), s.Close()); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	for _, name := range []string{used, filepath.Join(dir, "fresh")} {
		_, err := Open(name, Options{})
		known := (*durable.Error)(nil)
		if !errors.Is(err, durable.ErrUnwritable) || !errors.As(err, &known) || known.Remedy == "" {
			return fmt.Errorf("%s opened with: %w", name, err)
		}
	}
	fmt.Println("refused on a disk that cannot be written")
	return nil
}
