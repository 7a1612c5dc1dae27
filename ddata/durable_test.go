package ddata_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/durable/storetest"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
)

// alone starts the only node of a cluster on a directory.
func alone(t *testing.T, dir string, change func(*ddata.Config)) *ddata.Node {
	t.Helper()
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Dir = dir
	if change != nil {
		change(&c)
	}
	return startAll(t, c)[0]
}

func keeping(patterns ...string) func(*ddata.Config) {
	return func(c *ddata.Config) { c.DurableKeys = patterns }
}

func mustAdd(t *testing.T, n *ddata.Node, key, element string) {
	t.Helper()
	addTo(t, n, "backend", key, element)
}

func holds(t *testing.T, n *ddata.Node, key, element string) bool {
	t.Helper()
	set, err := ddata.Get(testContext(t), replica(t, n), ddata.NewKey[crdt.ORSet[string]](key), ddata.ReadMajority)
	if err != nil {
		t.Fatal(err)
	}
	return set.Contains(element)
}

func mustClose(t *testing.T, n *ddata.Node) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

func hasStore(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, "coterie.store"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestDurableKeysAreNamedExactlyOrByPattern(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		patterns := keeping("exact", "prefix/*", "a*/in/*z")
		durable := []string{"exact", "prefix/", "prefix/x", "a/in/z", "abc/in/xyz", "reminders/Cart/7"}
		volatile := []string{"exactly", "prefix", "a/in/zy", "b/in/z", "reminders"}
		n := mem.alone(dir, patterns)
		for _, key := range slices.Concat(durable, volatile) {
			mustAdd(t, n, key, "e")
		}
		mustClose(t, n)
		n = mem.alone(dir, patterns)
		for _, key := range durable {
			if !holds(t, n, key, "e") {
				t.Errorf("%q is gone", key)
			}
		}
		for _, key := range volatile {
			if holds(t, n, key, "e") {
				t.Errorf("%q came back", key)
			}
		}
	})
}

// A node that has written no durable key has no store, and is still known by its directory.
func TestTheFirstDurableKeyMakesTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		for range 2 {
			n := mem.alone(dir, nil)
			mustAdd(t, n, "volatile", "e")
			if !n.Durable() || hasStore(t, dir) || n.StoreStats() != (lmdb.Stats{}) {
				t.Errorf("a store without a durable key: %+v", n.StoreStats())
			}
			mustClose(t, n)
		}
		n := mem.alone(dir, nil)
		if n.View().Epoch < 3 {
			t.Errorf("epoch %v: the directory did not keep the views", n.View().Epoch)
		}
		mustAdd(t, n, "reminders/Cart/7", "e")
		if s := n.StoreStats(); !hasStore(t, dir) || s.Commits == 0 || s.File == 0 {
			t.Errorf("no store after a durable write: %+v", s)
		}
	})
}

func TestAnEmptyListSwitchesDurabilityOff(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		off := func(c *ddata.Config) { c.DurableKeys = []string{} }
		n := mem.alone(dir, off)
		if n.Durable() {
			t.Error("says that it keeps durable data")
		}
		for _, key := range []string{"kept/x", "reminders/Cart/7"} {
			mustAdd(t, n, key, "off")
		}
		mustClose(t, n)
		if hasStore(t, dir) {
			t.Error("a store with durability switched off")
		}
		n = mem.alone(dir, keeping("kept/*"))
		if holds(t, n, "kept/x", "off") {
			t.Error("what was written with durability switched off came back")
		}
		mustAdd(t, n, "kept/x", "on")
		mustClose(t, n)
		n = mem.alone(dir, off)
		if holds(t, n, "kept/x", "on") {
			t.Error("rows are read with durability switched off")
		}
		mustAdd(t, n, "kept/x", "memory")
		mustClose(t, n)
		if n = mem.alone(dir, keeping("kept/*")); !holds(t, n, "kept/x", "on") {
			t.Error("rows were not left alone with durability switched off")
		}
	})
}

// TestKeysStayDurable: a pattern that the configuration does not name any more goes on to hold, and
// the log says so.
func TestKeysStayDurable(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		n := mem.alone(dir, keeping("kept/*", "more/*"))
		mustAdd(t, n, "more/y", "e")
		mustClose(t, n)
		var log bytes.Buffer
		n = mem.alone(dir, func(c *ddata.Config) {
			c.DurableKeys, c.Logger = []string{"kept/*"}, slog.New(slog.NewTextHandler(&log, nil))
		})
		if !holds(t, n, "more/y", "e") {
			t.Error("what was durable is gone")
		}
		mustAdd(t, n, "more/y", "f")
		mustClose(t, n)
		for _, says := range []string{"DurableKeys", "coterie data", "keys=[more/*]"} {
			if !strings.Contains(log.String(), says) {
				t.Errorf("the log does not say %q:\n%s", says, log.String())
			}
		}
	})
}

// With WriteBehind the disk commits at most once per interval, and what was acknowledged is there
// after a crash all the same.
func TestWriteBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		const interval = 100 * time.Millisecond
		dir := t.TempDir()
		behind := func(c *ddata.Config) { c.DurableKeys, c.WriteBehind = []string{"kept/*"}, interval }
		n := mem.alone(dir, behind)
		mustAdd(t, n, "kept/x", "first")
		before, began := n.StoreStats(), time.Now()
		var writers sync.WaitGroup
		for w := range 30 {
			writers.Go(func() {
				for i := range 5 {
					if err := ddata.Update(testContext(t), replica(t, n), kept, ddata.WriteMajority,
						add(fmt.Sprint(w, "/", i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		after, took := n.StoreStats(), time.Since(began)
		if commits, most := after.Commits-before.Commits, uint64(took/interval)+1; commits > most {
			t.Errorf("%d commits in %v", commits, took)
		}
		if least := 4 * interval; took < least {
			t.Errorf("5 writes one after the other took %v, less than %v: some were acknowledged before their commit",
				took, least)
		}
		mustClose(t, n)
		n = mem.alone(dir, behind)
		set, err := ddata.Get(testContext(t), replica(t, n), kept, ddata.ReadMajority)
		if err != nil || set.Len() != 150 {
			t.Errorf("%d of 150 acknowledged writes are there: %v", set.Len(), err)
		}
	})
}

// block keeps a node from making its store, so that its commits fail, until it is taken away.
func block(t *testing.T, dir string) (unblock func()) {
	t.Helper()
	path := filepath.Join(dir, "coterie.store")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A store that fails counts the own replica as failed: a level that can do without it succeeds by
// the others, one that can not fails with the store's own words. Nothing is lost meanwhile: when
// the store works again it gets all of it.
func TestAFailingStoreCountsTheOwnReplicaAsFailed(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		nodes := mem.start(3, dirs)
		unblock := block(t, dirs[0])
		ctx := testContext(t)
		r := replica(t, nodes[0])
		refused := func(level ddata.WriteLevel, element string) {
			t.Helper()
			err := ddata.Update(ctx, r, kept, level, add(element))
			if !errors.Is(err, operation.ErrStoreFailure) || !errors.Is(err, durable.ErrCorrupt) ||
				!strings.Contains(err.Error(), dirs[0]) {
				t.Errorf("%v: %v", level, err)
			}
		}
		accepted := func(level ddata.WriteLevel, element string) {
			t.Helper()
			if err := ddata.Update(ctx, r, kept, level, add(element)); err != nil {
				t.Errorf("%v: %v", level, err)
			}
		}
		refused(ddata.WriteLocal, "local")
		refused(ddata.WriteAll, "all")
		refused(ddata.WriteTo(3), "three")
		accepted(ddata.WriteMajority, "majority")
		accepted(ddata.WriteTo(2), "two")
		if err := ddata.Update(ctx, r, names, ddata.WriteAll, add("volatile")); err != nil {
			t.Errorf("volatile keys have failed too: %v", err)
		}
		if s := nodes[0].StoreStats(); s.Failed == 0 || s.Batches > 0 {
			t.Errorf("%+v", s)
		}
		unblock()
		accepted(ddata.WriteAll, "after")
		mustClose(t, nodes[0])
		if n := itemsIn(t, dirs[0]); n != 6 {
			t.Errorf("%d of 6 elements are in the directory", n)
		}
	})
}

// Two of three stores fail: a majority write fails although all three replicas have it in memory.
// It does so at once, and names the nodes and what is wrong with their stores.
func TestAMajorityOfFailingStoresFailsTheWrite(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	nodes := startCluster(t, 3, dirs)
	defer block(t, dirs[1])()
	defer block(t, dirs[2])()
	err := ddata.Update(testContext(t), replica(t, nodes[0]), kept, ddata.WriteMajority, add("x"))
	if !errors.Is(err, operation.ErrStoreFailure) || errors.Is(err, operation.ErrTimeout) {
		t.Errorf("acknowledged by one disk: %v", err)
	}
	for i := 1; i <= 2; i++ {
		if err == nil || !strings.Contains(err.Error(), dirs[i]) || !strings.Contains(err.Error(), nodes[i].Addr()) {
			t.Errorf("%v does not name %s of %s", err, dirs[i], nodes[i].Addr())
		}
	}
	if set, err := ddata.Get(testContext(t), replica(t, nodes[1]), kept, ddata.ReadLocal); err != nil ||
		!set.Contains("x") {
		t.Errorf("it did not even arrive: %v %v", set, err)
	}
}

// itemsIn verifies a directory and counts what is in it.
func itemsIn(t *testing.T, dir string) int {
	t.Helper()
	e, err := lmdb.OpenExisting(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table, err := e.Table(rows.Table(keyspace.Dataset{Role: "backend"}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := rows.Verify(table)
	if err != nil {
		t.Fatal(err)
	}
	return s.Items
}

// A directory whose rows do not add up is refused with what to do, and not started from in part.
func TestDamagedRowsAreRefused(t *testing.T) {
	dir := t.TempDir()
	n := alone(t, dir, keeping("kept/*"))
	mustAdd(t, n, "kept/x", "one")
	mustAdd(t, n, "kept/x", "two")
	mustClose(t, n)
	e, err := lmdb.OpenExisting(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Damage(t, e, rows.Table(keyspace.Dataset{Role: "backend"}))
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Dir, c.DurableKeys = dir, []string{"kept/*"}
	_, err = ddata.Start(testContext(t), c)
	if !errors.Is(err, durable.ErrCorrupt) || !errors.Is(err, crdt.ErrDigest) {
		t.Fatalf("got %v", err)
	}
	for _, says := range []string{dir, "backend", "Config.Dir", "coterie data"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("the error does not say %q: %v", says, err)
		}
	}
}

func TestBadStoreSettingsAreNamed(t *testing.T) {
	c := config("127.0.0.1:0", nil, 1)
	c.WriteBehind, c.Store.QueueMax, c.Store.CompactFree = -1, -1, 2
	c.Store.OnEvent = func(lmdb.Event) {}
	_, err := ddata.Start(t.Context(), c)
	for _, field := range []string{"Config.WriteBehind", "Config.Store", "QueueMax", "CompactFree", "Store.OnEvent"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
}
