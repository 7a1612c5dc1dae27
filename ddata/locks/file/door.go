package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// door is one owner's lease of one name. It holds it while file is open.
type door struct {
	dir, lock, state, owner string

	mu     sync.Mutex
	file   *os.File // locked; nil = not held
	held   atomic.Bool
	lost   func(error)
	watch  *time.Timer // looks after the lock file while it is held
	fresh  time.Time   // when refresh was last called
	closed bool
}

var (
	_ locks.Lock   = (*door)(nil)
	_ locks.Holder = (*door)(nil)
)

const (
	// watchInterval is how often a holder checks its lock file.
	watchInterval = time.Second
	// freshInterval is how often a holder gives the files a new time. Cleaners of temporary folders
	// delete what is some days old.
	freshInterval = time.Hour
)

// Acquire implements locks.Lock.
func (d *door) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.readyLocked(ctx, false); err != nil {
		return false, err
	}
	if d.file != nil {
		return true, nil
	}
	f, err := d.take()
	if f == nil || err != nil {
		return false, err
	}
	d.file, d.lost = f, lost
	d.held.Store(true)
	d.refresh()
	d.watch = time.AfterFunc(watchInterval, func() { d.look(f) })
	return true, nil
}

// take locks the file; nil, and no error, if another has it. The file that was opened may have been
// replaced before it was locked, and then the lock is worth nothing.
func (d *door) take() (*os.File, error) {
	f, err := os.OpenFile(d.lock, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, unusable(d.lock, "", err)
	}
	if err := seal(f); err != nil {
		f.Close()
		return nil, err
	}
	switch err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, f.Close()
	case err != nil:
		f.Close()
		return nil, unusable(d.lock, "the file system has no working locks", err)
	}
	if err := d.same(f); err != nil {
		f.Close()
		return nil, err
	}
	host, _ := os.Hostname()
	line := fmt.Sprintf("%s, process %d on %s\n", d.owner, os.Getpid(), host) // a courtesy to processes that look
	if err := errors.Join(f.Truncate(0), writeAt(f, line)); err != nil {
		f.Close()
		return nil, unusable(d.lock, "", err)
	}
	return f, nil
}

func writeAt(f *os.File, line string) error {
	_, err := f.WriteAt([]byte(line), 0)
	return err
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

// same reports whether the name still leads to the file that is locked.
func (d *door) same(f *os.File) error {
	locked, err := f.Stat()
	if err != nil {
		return unusable(d.lock, "", err)
	}
	named, err := os.Stat(d.lock)
	if err != nil || !os.SameFile(locked, named) {
		return &locks.Error{Kind: locks.ErrReplaced, Path: d.lock,
			Detail: "it is not the file that was locked", Cause: err,
			Remedy: "leave the files of the directory alone while nodes run"}
	}
	return nil
}

// look notices that the file was replaced.
func (d *door) look(f *os.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file != f {
		return
	}
	if err := d.same(f); err != nil {
		d.loseLocked(err)
		return
	}
	if time.Since(d.fresh) >= freshInterval {
		d.refresh()
	}
	d.watch.Reset(watchInterval)
}

// refresh gives the files that the lease needs the present time. A file that is missing is none of
// its business: the record may never have been saved, and same finds that the lock file is gone.
func (d *door) refresh() {
	d.fresh = time.Now()
	for _, path := range []string{d.lock, d.state, filepath.Join(d.dir, idName)} {
		_ = os.Chtimes(path, d.fresh, d.fresh)
	}
}

func (d *door) loseLocked(err error) {
	lost := d.lost
	d.dropLocked()
	if lost != nil {
		go lost(err)
	}
}

// dropLocked unlocks before it closes: a child that is just being started may have the file open
// for a moment longer.
func (d *door) dropLocked() error {
	f := d.file
	if f == nil {
		return nil
	}
	d.held.Store(false)
	d.watch.Stop()
	d.file, d.lost, d.watch = nil, nil, nil
	return errors.Join(flock(f, syscall.LOCK_UN), f.Close())
}

// Holder implements locks.Holder: what the holder has written into its file, or the last one had.
func (d *door) Holder(context.Context) string {
	f, err := os.Open(d.lock)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, err := io.ReadAll(io.LimitReader(f, holderMax))
	if name, _, whole := strings.Cut(string(line), "\n"); err == nil && whole {
		return name
	}
	return ""
}

// holderMax bounds what is read of a holder's line.
const holderMax = 1 << 10

// Release implements locks.Lock.
func (d *door) Release(context.Context) error {
	d.held.Store(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.dropLocked(); err != nil {
		return unusable(d.lock, "", err)
	}
	return nil
}

// Until implements locks.Lock. It does not wait for a Save.
func (d *door) Until() time.Time {
	if !d.held.Load() {
		return time.Time{}
	}
	return locks.Forever
}

// Close implements locks.Lock.
func (d *door) Close() error {
	err := d.Release(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return err
}

// readyLocked says why a call cannot go on. A holder whose file was replaced learns of it here.
func (d *door) readyLocked(ctx context.Context, held bool) error {
	switch {
	case d.closed:
		return fmt.Errorf("lease %s: %w", d.lock, locks.ErrClosed)
	case ctx.Err() != nil:
		return fmt.Errorf("lease %s: %w", d.lock, ctx.Err())
	case held && d.file == nil:
		return fmt.Errorf("lease %s: %w", d.lock, locks.ErrNotHeld)
	case d.file == nil:
		return nil
	}
	if err := d.same(d.file); err != nil {
		d.loseLocked(err)
		return errors.Join(locks.ErrNotHeld, err)
	}
	return nil
}
