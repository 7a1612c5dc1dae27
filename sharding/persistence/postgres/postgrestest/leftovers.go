package postgrestest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

const (
	dirPattern = "coterie-postgres-" // in front of the names of the directories
	ownerFile  = "owner"             // in a directory; the process that made it has it locked
)

// own locks a directory as long as this process runs, or until the file is closed. The file gets its
// name when it is locked: another process may be looking for what nothing has locked.
func own(dir string) (*os.File, error) {
	name := filepath.Join(dir, ownerFile)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(flock(f), os.Rename(f.Name(), name)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeLeftovers removes the directories of processes that were killed: nothing has locked them. What
// cannot be removed, because a server of it is still ending, stays until the next start. A directory
// without a file to lock is left alone: a process may be making it.
func removeLeftovers(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, dirPattern+"*")) // the pattern is sound
	for _, dir := range dirs {
		if f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR, 0); err == nil {
			if flock(f) == nil {
				remove(dir)
			}
			_ = f.Close() // nothing was written
		}
	}
}

// remove removes a directory. The file to lock goes last, so that what stays is found again.
func remove(dir string) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != ownerFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err == nil {
		_ = os.RemoveAll(dir) // else the next start does it
	}
}

// flock locks a file, unless it is locked.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}
