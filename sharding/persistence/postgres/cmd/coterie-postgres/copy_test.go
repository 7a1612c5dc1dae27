package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/directories"
)

const (
	shardsOfCart = 6
	idsOfShard   = 30
	idsOfCart    = shardsOfCart * idsOfShard
)

// nodeDirs makes the directories of nodes that have run.
func nodeDirs(t *testing.T) (dirs []string) {
	t.Helper()
	for i := range 2 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("node", i))
		e, err := lmdb.Open(dir, lmdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.SetNote([]byte("a node was here")); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// inDirs does something with the ids in directories.
func inDirs(t *testing.T, dirs []string, do func(remember.Store)) {
	t.Helper()
	tables, closeAll, err := openTables("backend", dirs)
	if err != nil {
		t.Fatal(err)
	}
	s, err := directories.Open("Cart", tables...)
	if err != nil {
		t.Fatal(err)
	}
	do(s)
	if err := closeAll(); err != nil {
		t.Fatal(err)
	}
}

// inJournal does something with the ids in a schema.
func inJournal(t *testing.T, schema string, do func(remember.Store)) {
	t.Helper()
	s := store(t, schema)
	defer s.Close()
	do(ids(t, s, "Cart"))
}

func fill(t *testing.T, s remember.Store) {
	t.Helper()
	for shard := range protocol.ShardID(shardsOfCart) {
		var all []protocol.EntityID
		for i := range idsOfShard {
			all = append(all, protocol.EntityID(fmt.Sprint("cart-", shard, "-", i)))
		}
		if err := s.List(t.Context(), singleton.FencingToken{}, []protocol.ShardID{shard}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Update(t.Context(), singleton.FencingToken{}, shard, all, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func wantAll(t *testing.T, s remember.Store) {
	t.Helper()
	shards, err := s.Shards(t.Context(), singleton.FencingToken{})
	if err != nil || len(shards) != shardsOfCart {
		t.Errorf("%d shards, %v", len(shards), err)
	}
	for _, shard := range shards {
		found, err := s.Load(t.Context(), singleton.FencingToken{}, shard)
		third := protocol.EntityID(fmt.Sprint("cart-", shard, "-3"))
		if err != nil || len(found) != idsOfShard || !slices.Contains(found, third) {
			t.Errorf("shard %v has %q, %v", shard, found, err)
		}
	}
}

// The ids of a type go from the directories of nodes to the journal, and from there to other
// directories. Each copy is killed in the middle first, and then goes on.
func TestCopy(t *testing.T) {
	schema := newSchema()
	store(t, schema).Close()
	old, fresh := nodeDirs(t), nodeDirs(t)
	inDirs(t, old, func(s remember.Store) { fill(t, s) })

	to := func(where string, dirs []string, more ...string) []string {
		return append(append([]string{"copy", "-type", "Cart", "-role", "backend", "-to", where}, more...), dirs...)
	}
	whole := fmt.Sprintf(`shards=%d ids=%d before=\d+ added=\d+ others=0 copied and compared`, shardsOfCart, idsOfCart)
	out, _ := command(t, exitOK, schema, to("journal", old, "-n")...)
	says(t, out, fmt.Sprintf(`ids=%d before=0 added=%d others=0 would be copied`, idsOfCart, idsOfCart))
	killed(t, schema, to("journal", old))
	out, _ = command(t, exitOK, schema, to("journal", old)...)
	says(t, out, whole)
	inJournal(t, schema, func(s remember.Store) { wantAll(t, s) })

	killed(t, schema, to("directories", fresh))
	out, _ = command(t, exitOK, schema, to("directories", fresh)...)
	says(t, out, whole)
	inDirs(t, fresh, func(s remember.Store) { wantAll(t, s) })
	out, _ = command(t, exitOK, schema, to("directories", fresh)...)
	says(t, out, fmt.Sprintf(`before=%d added=0`, idsOfCart))

	inJournal(t, schema, func(s remember.Store) {
		if err := s.Update(t.Context(), singleton.FencingToken{}, 1, []protocol.EntityID{"stale"}, nil); err != nil {
			t.Fatal(err)
		}
	})
	_, errs := command(t, exitFailed, schema, to("journal", fresh)...)
	says(t, errs, `the target has ids that the source has not: 1 of .*-replace`)
	out, _ = command(t, exitOK, schema, to("journal", fresh, "-replace")...)
	says(t, out, `others=1 copied`)
	inJournal(t, schema, func(s remember.Store) { wantAll(t, s) })
	_, errs = command(t, exitFailed, schema, "copy", "-type", "Order", "-role", "backend", "-to", "journal", old[0])
	says(t, errs, "nothing is remembered in the source")
	command(t, exitUsage, schema, "copy", "-type", "Cart", "-to", "journal", old[0])
}

// variable has the test's binary run the command.
const variable = "COTERIE_POSTGRES_COMMAND"

// killed runs the command as a process and kills it in the middle. The journal tells: the load of a set
// is an event, as a change is, so these are the loads of a source, or the first changes of a target.
func killed(t *testing.T, schema string, args []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args = append([]string{args[0], "-dsn", suite.Server(t).DSN(), "-schema", schema}, args[1:]...)
	cmd := exec.CommandContext(ctx, self, args...)
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), variable+"=1"), &said
	events := func() int { return count(t, schema, "SELECT count(*) FROM @.events") }
	before := events()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for events() < before+shardsOfCart+1 {
		if ctx.Err() != nil {
			t.Fatalf("it writes nothing: %s", said.String())
		}
	}
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
	if said.Len() > 0 {
		t.Errorf("before it was killed it said %s", said.String())
	}
}
