package postgrestest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// serverOnly is a program with a server and nothing else.
type serverOnly struct{}

func runServer(ctx context.Context, _ []byte) (nodetest.Node, error) {
	_, err := postgrestest.New(ctx)
	return serverOnly{}, err
}

// Call implements nodetest.Node.
func (serverOnly) Call(_ context.Context, name string, _ []byte) (any, error) {
	return nil, fmt.Errorf("no call %s", name)
}

// A start removes the directory of a process that was killed, and no other one.
func TestLeftovers(t *testing.T) {
	if _, err := postgrestest.Find(); errors.Is(err, postgrestest.ErrMissing) && !postgrestest.Required() {
		t.Skip(err) // skip: the machine may lack PostgreSQL; the variable makes it a failure
	}
	parent := t.TempDir()
	if err := os.Chmod(filepath.Dir(parent), 0o755); err != nil { // the server's user goes through it
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", parent)
	foreign := filepath.Join(parent, "coterie-postgres-of-nothing")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	dirs := func() []string {
		all, err := filepath.Glob(filepath.Join(parent, "coterie-postgres-*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first := postgrestest.Start(t)
	stays := dirs()
	killed := nodetest.Start(t, "server")
	if err := killed.Setup(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	goes := slices.DeleteFunc(dirs(), func(dir string) bool { return slices.Contains(stays, dir) })
	if len(stays) != 2 || len(goes) != 1 {
		t.Fatalf("there are %q and %q, want two and one", stays, goes)
	}
	killed.Kill()
	for try := 0; slices.Contains(dirs(), goes[0]); try++ { // the server may still be ending
		if try == 5 {
			t.Fatalf("%q is still there", goes)
		}
		postgrestest.Start(t)
	}
	for _, dir := range stays {
		if !slices.Contains(dirs(), dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	if err := first.Start(t.Context()); err != nil {
		t.Error("a server that ran meanwhile does not start again:", err)
	}
}
