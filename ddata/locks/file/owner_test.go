package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/bubble"
)

func acquired(t *testing.T, d *Dir, name string) locks.Lock {
	t.Helper()
	l, err := d.Lock(name, "me")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := l.Acquire(t.Context(), func(err error) { t.Errorf("lost: %v", err) }); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := l.Save(t.Context(), []byte("a record")); err != nil {
		t.Fatal(err)
	}
	return l
}

// A user that can open a lock file can lock it, so only the owner may. Files that are left over
// with another mode get the right one.
func TestOnlyTheOwnerOpensTheFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"x.lock", "x.state.new"} {
		if err := os.WriteFile(filepath.Join(path, left), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	defer acquired(t, d, "x").Close()
	defer acquired(t, d, "y").Close()
	files := 0
	err = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", p, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files != 6 { // the directory, id, and two of each lease
		t.Errorf("%d files, %v", files, err)
	}
}

func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	writable := t.TempDir()
	if err := os.Chmod(writable, 0o770); err != nil {
		t.Fatal(err)
	}
	foreign := "/" // of root
	if os.Geteuid() == 0 {
		foreign = t.TempDir()
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	for path, says := range map[string]string{writable: "0770", foreign: "belongs to user"} {
		if _, err := Open(path); !errors.Is(err, locks.ErrUnusable) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// As root, a process can open a lock file of any user. It refuses one that another user made.
func TestLockFileOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("not root") // skip: only root can make a file of another user
	}
	path := t.TempDir()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(path, "x.lock")
	if err := errors.Join(os.WriteFile(lock, nil, 0o600), os.Chown(lock, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	l, err := d.Lock("x", "me")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ok, err := l.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrUnusable) ||
		!strings.Contains(err.Error(), lock) {
		t.Error(ok, err)
	}
}

// No name leads out of the directory.
func TestNamesStayInside(t *testing.T) {
	base := t.TempDir()
	d, err := Open(filepath.Join(base, "leases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "..", "...", "../x", "/", "./."} {
		defer acquired(t, d, name).Close()
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the directory there is %v, %v", entries, err)
	}
}

// A cleaner of temporary folders goes by the times of files. While a lease is held, none of its
// files grows old.
func TestFilesOfAHolderStayFresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	bubble.Test(t, func(t *testing.T) {
		d, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer acquired(t, d, "x").Close()
		files := []string{"id", "x.lock", "x.state"}
		old := time.Now().Add(-time.Hour)
		for _, f := range files {
			if err := os.Chtimes(filepath.Join(path, f), old, old); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(freshInterval + 2*watchInterval)
		for _, f := range files {
			info, err := os.Stat(filepath.Join(path, f))
			if err != nil || time.Since(info.ModTime()) > freshInterval {
				t.Errorf("%s was last given a time at %v, %v", f, info.ModTime(), err)
			}
		}
	})
}
