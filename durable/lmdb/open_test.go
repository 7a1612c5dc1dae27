package lmdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

// refused checks that opening fails with a kind, that the message names the path, and that it says
// what to do.
func refused(t *testing.T, dir string, kind error, path string) *durable.Error {
	t.Helper()
	e, err := Open(dir, Options{})
	if err == nil {
		_ = e.Close()
		t.Fatalf("opened, want %v", kind)
	}
	var de *durable.Error
	if !errors.Is(err, kind) || !errors.As(err, &de) {
		t.Fatalf("got %v, want %v", err, kind)
	}
	if de.Path != path || !strings.Contains(err.Error(), path) || de.Remedy == "" {
		t.Errorf("the message does not name %s and a remedy: %v", path, err)
	}
	return de
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "hold", dir)
	if got := c.line(); got != "open" {
		t.Fatalf("the child said %q: %s", got, c.stderr.String())
	}
	err := refused(t, dir, durable.ErrInUse, dir)
	if err.PID != c.Process.Pid || !strings.Contains(err.Error(), fmt.Sprint(c.Process.Pid)) {
		t.Errorf("the holder is %d and the error says %d: %v", c.Process.Pid, err.PID, err)
	}
	if err := Remove(dir); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("removing a store in use: %v", err)
	}
	c.in.Close()
	c.finish(t)
	mustOpen(t, dir, Options{})
}

func TestSecondOpenInOneProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link} {
		if err := refused(t, path, durable.ErrInUse, path); err.PID != os.Getpid() {
			t.Errorf("the error says process %d: %v", err.PID, err)
		}
	}
	// as if flocks were the whole process's
	if err := syscall.Flock(int(e.lock.file.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, durable.ErrInUse, dir)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, link, Options{})
}

func TestForeignDirectoryIsRefusedAndUntouched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letters.txt"), []byte("dear"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := refused(t, dir, durable.ErrForeign, dir)
	if !strings.Contains(err.Error(), "letters.txt") {
		t.Errorf("the message does not say what was found: %v", err)
	}
	entries, rerr := os.ReadDir(dir)
	if rerr != nil || len(entries) != 1 {
		t.Errorf("the directory now holds %v (%v)", entries, rerr)
	}
}

func TestDirectoriesThatAreTakenForEmpty(t *testing.T) {
	for _, leftover := range []string{lockName, "lost+found/", newName + "/", newName, nodeNewName} {
		dir := t.TempDir()
		path, err := filepath.Join(dir, leftover), error(nil)
		if strings.HasSuffix(leftover, "/") {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, []byte("left by a process that died\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		mustCommit(t, mustTable(t, mustOpen(t, dir, Options{}), "t"), row("a", 1))
	}
}

func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, file, durable.ErrUnwritable, file)
	refused(t, filepath.Join(file, "below"), durable.ErrUnwritable, filepath.Join(file, "below"))
	refused(t, "/proc/no such directory", durable.ErrUnwritable, "/proc/no such directory")
	if !Exists(filepath.Join(file, "below")) {
		t.Error("what can not be read was called not there")
	}
}

func TestExistsAndRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if Exists(dir) {
		t.Error("exists before it was made")
	}
	if err := Remove(dir); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
	e := mustOpen(t, dir, Options{})
	if !Exists(dir) {
		t.Error("does not exist while it is open")
	}
	mustCommit(t, mustTable(t, e, "t"), row("a", 1))
	id := e.ID()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil || Exists(dir) {
		t.Errorf("removed: %v, exists: %v", err, Exists(dir))
	}
	left(t, dir, lockName)
	e = mustOpen(t, dir, Options{})
	if n := count(t, mustTable(t, e, "t")); n != 0 || e.ID() == id {
		t.Errorf("%d rows after Remove, the id was %x and is %x", n, id, e.ID())
	}
}

// made makes a store with some rows and returns its directory and that of its files.
func made(t *testing.T) (dir, store string) {
	t.Helper()
	dir = t.TempDir()
	e := mustOpen(t, dir, Options{})
	tbl := mustTable(t, e, "t")
	for i := range 50 {
		mustCommit(t, tbl, row(fmt.Sprintf("%03d", i), 300+i*40))
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, storeName)
}

func TestDamageIsRefused(t *testing.T) {
	damages := []struct {
		name, file, says string
		kind             error
		do               func(path string) error
	}{
		{"no data", dataName, "missing", durable.ErrCorrupt, os.Remove},
		{"empty data", dataName, "0 bytes", durable.ErrCorrupt, func(p string) error { return os.Truncate(p, 0) }},
		{"half a head", dataName, "5000 bytes",
			durable.ErrCorrupt, func(p string) error { return os.Truncate(p, 5000) }},
		{"half of the rows", dataName, "should have",
			durable.ErrCorrupt, func(p string) error { return os.Truncate(p, 40<<10) }},
		{"garbage", dataName, "MDB_INVALID", durable.ErrCorrupt, func(p string) error {
			return os.WriteFile(p, []byte(strings.Repeat("garbage\n", 5000)), 0o600)
		}},
		{"another program's data", dataName, "not made by this library", durable.ErrCorrupt, anotherEnvironment},
		{"no format", formatName, "missing", durable.ErrCorrupt, os.Remove},
		{"garbage for a format", formatName, "does not begin", durable.ErrCorrupt, func(p string) error {
			return os.WriteFile(p, []byte("x"), 0o600)
		}},
		{"another directory's data", dataName, "another directory", durable.ErrCorrupt, anotherDirectory},
		{"no store", ".", "missing", durable.ErrCorrupt, os.RemoveAll},
		{"no node file", nodeName, "missing", durable.ErrCorrupt, os.Remove},
		{"an empty node file", nodeName, "does not begin",
			durable.ErrCorrupt, func(p string) error { return os.Truncate(p, 0) }},
		{"half a node file", nodeName, "should have", durable.ErrCorrupt, func(p string) error {
			return os.Truncate(p, nodeSize/2)
		}},
		{"garbage behind the head of the node file", nodeName, "neither of its halves",
			durable.ErrCorrupt, func(p string) error {
				return os.WriteFile(p, append([]byte(nodeTitle+"\nformat 1\n"),
					make([]byte, nodeSize-len(nodeTitle)-10)...), 0o600)
			}},
		{"a node file of a later format", nodeName, "format 7", durable.ErrVersion,
			func(p string) error { return os.WriteFile(p, []byte(nodeTitle+"\nformat 7\n"), 0o600) }},
		{"a later format", formatName, "format 2", durable.ErrVersion,
			func(p string) error { return os.WriteFile(p, []byte(formatTitle+"\nformat 2\n"), 0o600) }},
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			dir, store := made(t)
			path := filepath.Join(store, d.file)
			if d.file == nodeName {
				path = filepath.Join(dir, nodeName)
			}
			if err := d.do(path); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first refusal has not repaired it into an empty one
				if err := refused(t, dir, d.kind, path); !strings.Contains(err.Error(), d.says) {
					t.Errorf("the message does not say %q: %v", d.says, err)
				}
			}
			if err := Remove(dir); err != nil {
				t.Fatal(err)
			}
			mustOpen(t, dir, Options{})
		})
	}
}

// anotherEnvironment puts an LMDB file without our mark in the place of ours.
func anotherEnvironment(path string) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), "other")
	if err != nil {
		return err
	}
	opts, err := Options{}.WithDefaults()
	if err != nil {
		return err
	}
	h, err := openHandle(dir, opts)
	if err != nil {
		return err
	}
	if _, err = h.openTable("t", true); err != nil {
		return err
	}
	h.close()
	return os.Rename(filepath.Join(dir, dataName), path)
}

// anotherDirectory puts the store's file of another directory of ours in the place of one.
func anotherDirectory(path string) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), "other")
	if err != nil {
		return err
	}
	e, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	t, err := e.Table("t")
	if err != nil {
		return err
	}
	if err := errors.Join(commit(t, row("a", 1)), e.Close()); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, storeName, dataName), path)
}

func TestALostLockFileIsMadeAgain(t *testing.T) {
	dir, store := made(t)
	if err := os.WriteFile(filepath.Join(store, readerName),
		[]byte(strings.Repeat("garbage\n", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	e := mustOpen(t, dir, Options{})
	if n := count(t, mustTable(t, e, "t")); n != 50 {
		t.Fatalf("%d rows", n)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(store, readerName)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, mustTable(t, mustOpen(t, dir, Options{}), "t")); n != 50 {
		t.Fatalf("%d rows", n)
	}
}

func TestOptionsReportAllFaults(t *testing.T) {
	_, err := Open(t.TempDir(), Options{MapSize: -1, MaxTables: -1, QueueMax: -1, CompactMin: -1, CompactFree: 2})
	for _, name := range []string{"MapSize", "MaxTables", "QueueMax", "CompactMin", "CompactFree"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not reported: %v", name, err)
		}
	}
}

func TestTooManyTables(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{MaxTables: 2})
	tbl := mustTable(t, e, "a")
	mustTable(t, e, "b")
	if _, err := e.Table("c"); !errors.Is(err, durable.ErrTables) {
		t.Fatalf("got %v", err)
	}
	mustCommit(t, tbl, row("still", 1))
}

// With little address space the map is halved until it fits.
func TestSmallAddressSpace(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command("bash", "-c", `ulimit -v 8000000; exec "$0" "$1"`, os.Args[0], dir)
	c.Env = append(os.Environ(), childEnv+"=hold")
	c.Stdin = strings.NewReader("")
	out, err := c.CombinedOutput()
	if err != nil || string(out) != "open\n" {
		t.Fatalf("%v: %s", err, out)
	}
}

// For every length that a file can be cut to: opening says that it is damaged, or all rows are
// there.
func TestEveryCutIsFoundOrHarmless(t *testing.T) {
	dir, store := made(t)
	whole, err := os.ReadFile(filepath.Join(store, dataName))
	if err != nil {
		t.Fatal(err)
	}
	whole = slices.Clip(whole)
	opened, page := 0, os.Getpagesize()
	for i := range 2 * (len(whole)/page + 1) { // cut before each page, and in it, at different places
		size := min(i/2*page+i%2*(1+i/2%3)*page/4, len(whole))
		if err := os.WriteFile(filepath.Join(store, dataName), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := Open(dir, Options{})
		if err != nil {
			if !errors.Is(err, durable.ErrCorrupt) {
				t.Fatalf("cut at %d: %v", size, err)
			}
			continue
		}
		opened++
		if n := count(t, mustTable(t, e, "t")); n != 50 {
			t.Fatalf("cut at %d of %d: %d rows of 50", size, len(whole), n)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if opened == 0 {
		t.Fatal("the whole file was refused")
	}
}
