package file_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

// childEnv makes this test binary a process that holds the lease "x" of a directory until it is
// killed.
const childEnv = "COTERIE_LEASE_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		hold(dir)
	}
	syscall.Umask(0o022) // that of some users lets their group write the directories of tests, which Open refuses
	goleak.VerifyTestMain(m)
}

func hold(dir string) {
	d, err := file.Open(dir)
	if err == nil {
		var l locks.Lock
		if l, err = d.Lock("x", "child"); err == nil {
			var ok bool
			if ok, err = l.Acquire(context.Background(), nil); err == nil && ok {
				err = l.Save(context.Background(), []byte("of the child"))
			}
			fmt.Println(ok, err)
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func open(t testing.TB, dir string) *file.Dir {
	t.Helper()
	d, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestFile(t *testing.T) {
	lockstest.Run(t, func(t testing.TB) (one, other locks.Store) {
		dir := filepath.Join(t.TempDir(), "leases")
		return open(t, dir), open(t, dir)
	})
}

// A process that is killed loses its lease at once, and what it saved is there.
func TestKilledHolder(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+dir)
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "true <nil>\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	l, err := d.Lock("x", "parent")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ok, err := l.Acquire(context.Background(), nil); ok || err != nil {
		t.Fatalf("while the child lives: %t, %v", ok, err)
	}
	if who, _ := os.ReadFile(filepath.Join(dir, "x.lock")); !strings.Contains(string(who),
		fmt.Sprintf("child, process %d on ", child.Process.Pid)) {
		t.Errorf("the lock file says %q", who)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if ok, err := l.Acquire(context.Background(), nil); !ok || err != nil {
		t.Fatalf("after the child's death: %t, %v", ok, err)
	}
	if got, err := l.Load(context.Background()); string(got) != "of the child" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// A holder whose file somebody replaces is told, and writes nothing any more.
func TestReplacedFile(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, dir).Lock("x", "a")
	defer l.Close()
	told := make(chan error, 1)
	if ok, err := l.Acquire(context.Background(), func(err error) { told <- err }); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := os.Remove(filepath.Join(dir, "x.lock")); err != nil {
		t.Fatal(err)
	}
	if err := <-told; !errors.Is(err, locks.ErrReplaced) { // by itself, within a second
		t.Error(err)
	}
	if !l.Until().IsZero() {
		t.Error("it still holds")
	}
	if err := l.Save(context.Background(), nil); !errors.Is(err, locks.ErrNotHeld) {
		t.Error(err)
	}
	if ok, err := l.Acquire(context.Background(), func(err error) { told <- err }); !ok || err != nil {
		t.Fatal("a new file can be had:", ok, err)
	}
	if err := os.Remove(filepath.Join(dir, "x.lock")); err != nil {
		t.Fatal(err)
	}
	if err := l.Save(context.Background(), nil); !errors.Is(err, locks.ErrNotHeld) ||
		!errors.Is(err, locks.ErrReplaced) {
		t.Error("noticed when saving:", err)
	}
	<-told
}

func TestWhatIsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("foreign/notes.txt", "mine")
	write("wrong/id", "not this")
	for _, c := range []struct {
		path string
		kind error
		says string
	}{
		{filepath.Join(dir, "foreign"), locks.ErrForeign, "notes.txt"},
		{filepath.Join(dir, "wrong"), locks.ErrForeign, "wrong/id"},
		{write("plain", "a file"), locks.ErrUnusable, "plain"},
		{filepath.Join(dir, "no/such/parent"), locks.ErrUnusable, "no/such/parent"},
	} {
		_, err := file.Open(c.path)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

// A file that cannot be opened is an error, and not another holder.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "x.lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, _ := d.Lock("x", "a")
	defer l.Close()
	if ok, err := l.Acquire(context.Background(), nil); ok || !errors.Is(err, locks.ErrUnusable) ||
		!strings.Contains(err.Error(), "x.lock") {
		t.Error(ok, err)
	}
}

// A record that was damaged is not taken for none.
func TestDamagedRecord(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	l, _ := open(t, dir).Lock("x", "a")
	defer l.Close()
	if ok, err := l.Acquire(ctx, nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := l.Save(ctx, []byte("the record")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.state")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, bad := range [][]byte{
			good[:i], append(append([]byte{}, good[:i]...), append([]byte{good[i] ^ 1}, good[i+1:]...)...),
		} {
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if r, err := l.Load(ctx); !errors.Is(err, locks.ErrDamaged) {
				t.Fatalf("byte %d of %d: %q, %v", i, len(bad), r, err)
			}
		}
	}
}

// Two directories are two stores, however alike.
func TestStoresAreApart(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	if a.ID() == b.ID() {
		t.Errorf("both are %q", a.ID())
	}
}

func TestFileNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	a, _ := open(t, dir).Lock("x", "ann")
	b, _ := open(t, dir).Lock("x", "bob")
	defer a.Close()
	defer b.Close()
	who := func() string { return b.(locks.Holder).Holder(context.Background()) }
	if got := who(); got != "" {
		t.Errorf("it was never held, and the holder is %q", got)
	}
	if ok, err := a.Acquire(context.Background(), nil); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := who(); !strings.HasPrefix(got, "ann, process ") {
		t.Errorf("ann holds it, and it says %q", got)
	}
}
