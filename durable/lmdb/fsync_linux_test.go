package lmdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

func init() { children["fsync"], children["meta"] = failingSync, failingHead }

// shim stands between LMDB and libc: while a file of that name exists, the call fails as that of a
// broken disk does.
const shim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int broken(const char *what) {
	const char *path = getenv(what);
	return path && access(path, F_OK) == 0;
}

int fdatasync(int fd) {
	static int (*real)(int);
	if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
	if (broken("BROKEN_SYNC")) { errno = EIO; return -1; }
	return real(fd);
}

ssize_t pwrite(int fd, const void *b, size_t n, off_t at) {
	static ssize_t (*real)(int, const void *, size_t, off_t);
	if (!real) real = dlsym(RTLD_NEXT, "pwrite");
	if ((fcntl(fd, F_GETFL) & O_DSYNC) && broken("BROKEN_HEAD")) { errno = EIO; return -1; }
	return real(fd, b, n, at);
}

ssize_t pwrite64(int fd, const void *b, size_t n, off_t at) { return pwrite(fd, b, n, at); }
`

// A disk whose fsync fails, or that can not write the head of the file: in a process of its own
// whose calls of the system fail. No commit is acknowledged that a crash could take back, what was
// acknowledged stays readable, and all of it is there when the store is opened again.
func TestFailingSync(t *testing.T) {
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "shim.c"), filepath.Join(dir, "shim.so")
	if err := os.WriteFile(source, []byte(shim), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, out)
	}
	for _, role := range []string{"fsync", "meta"} {
		t.Run(role, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "store")
			c := newChild(role, store)
			c.Env = append(c.Env, "LD_PRELOAD="+lib, "BROKEN_SYNC="+store+".sync", "BROKEN_HEAD="+store+".head")
			if err := c.begin(); err != nil {
				t.Fatal(err)
			}
			t.Log(c.finish(t))
			e := mustOpen(t, store, Options{})
			var keys []string
			if err := mustTable(t, e, "t").Load(func(r durable.Row) error {
				keys = append(keys, string(r.Key))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if want := map[string]string{"fsync": "[a c]", "meta": "[a]"}[role]; fmt.Sprint(keys) != want {
				t.Errorf("after all the store holds %v, want %v", keys, want)
			}
		})
	}
}

// failingSync commits a, fails to commit b, and commits c when the disk works again.
func failingSync(dir string) error {
	e, tbl, err := withRow(dir)
	if err != nil {
		return err
	}
	switchOn := os.Getenv("BROKEN_SYNC")
	if err := os.WriteFile(switchOn, nil, 0o600); err != nil {
		return err
	}
	for range 3 {
		if err := refusedByDisk(tbl); err != nil {
			return err
		}
	}
	if err := os.Remove(switchOn); err != nil {
		return err
	}
	return errors.Join(loadsAll(tbl, 1), commit(tbl, row("c", 10)), loadsAll(tbl, 2), e.Close())
}

// failingHead commits a, and fails to commit b at the last moment. LMDB then trusts the file no
// more, until it is opened again.
func failingHead(dir string) error {
	e, tbl, err := withRow(dir)
	if err != nil {
		return err
	}
	switchOn := os.Getenv("BROKEN_HEAD")
	if err := os.WriteFile(switchOn, nil, 0o600); err != nil {
		return err
	}
	if err := refusedByDisk(tbl); err != nil {
		return err
	}
	if err := os.Remove(switchOn); err != nil {
		return err
	}
	return errors.Join(refusedByDisk(tbl), e.Close())
}

func withRow(dir string) (*Env, durable.Table, error) {
	e, err := Open(dir, Options{})
	if err != nil {
		return nil, nil, err
	}
	tbl, err := e.Table("t")
	if err != nil {
		return nil, nil, err
	}
	return e, tbl, commit(tbl, row("a", 10))
}

// refusedByDisk commits a row that must not be acknowledged.
func refusedByDisk(tbl durable.Table) error {
	err := commit(tbl, row("b", 10))
	if de := (*durable.Error)(nil); !errors.Is(err, durable.ErrIO) || !errors.As(err, &de) ||
		filepath.Base(de.Path) != dataName || de.Remedy == "" {
		return fmt.Errorf("a commit on a broken disk was answered: %w", err)
	}
	fmt.Println(err)
	return nil
}
