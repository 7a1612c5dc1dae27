package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/durable/storetest"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/storage"
)

// runData runs the command data and checks its exit code.
func runData(t *testing.T, want int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	c := stdio{out: &o, errs: &e, getenv: func(string) string { return "" }}
	if code := run(t.Context(), append([]string{"data"}, args...), c); code != want {
		t.Fatalf("coterie data %q: exit code %d, want %d\n%s%s", args, code, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

func says(t *testing.T, text string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

// node makes the directory of a node: a role with a set and a counter, and two entity types that
// remember.
func node(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tables, reps := map[bool]durable.Table{}, map[bool]*crdt.Replica{}
	for _, set := range keyspace.Datasets([]string{"backend"}) {
		if tables[set.Reserved], err = e.Table(rows.Table(set)); err != nil {
			t.Fatal(err)
		}
		reps[set.Reserved] = crdt.NewReplica(7, crdt.StoreOptions{})
	}
	update := func(key string, fn func(*crdt.Tx) error) {
		t.Helper()
		var ch crdt.Changes
		table, rep := tables[keyspace.IsReserved(key)], reps[keyspace.IsReserved(key)]
		if _, err := rep.Update(key, 0, fn, &ch); err != nil {
			t.Fatal(err)
		}
		commit(t, table, rows.Of(storage.Batch{
			Put: slices.Clone(ch.Put), Clock: rep.Store().Clock().Clone(), Digest: rep.Store().Digest(),
		})...)
	}
	for i := range 20 {
		add := crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
			return s.Add(fmt.Sprint("element", i))
		})
		for _, key := range []string{fmt.Sprint("sharding/Cart/ids/", i%4), "sharding/Order/ids/1", "kept/set"} {
			update(key, add)
		}
	}
	update("kept/counter", crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(5) }))
	other, err := e.Table("letters")
	if err != nil {
		t.Fatal(err)
	}
	commit(t, other, durable.Row{Key: []byte("a"), Value: []byte("b")})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func commit(t *testing.T, table durable.Table, all ...durable.Row) {
	t.Helper()
	answer := make(chan error, 1)
	table.Commit(all, func(err error) { answer <- err })
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
}

func TestInspect(t *testing.T) {
	dir := node(t)
	out, _ := runData(t, exitOK, "inspect", dir)
	says(t, out,
		`dir=`+dir+` disk=[0-9a-f]{16} format=1 store=true file_bytes=\d{5} free_bytes=\d+`,
		`view="the node was in no cluster"`,
		`table=letters note="of another program"`,
		`table=replica/backend role=backend data=user space=durable rows=21 row_bytes=\d{3} keys=2 events=21 origins=1 `+
			`digest=[0-9a-f]{32}`,
		`type=GCounter keys=1 rows=1 `, `type=ORSet keys=1 rows=20 `,
		`table=reserved/backend role=backend data=reserved space=durable rows=40 row_bytes=\d{4} keys=5 events=40 `,
		`type=ORSet keys=5 rows=40 `, `remembered=Cart keys=4 rows=20 `,
		`remembered=Order keys=1 rows=20 `,
		`key=kept/counter type=GCounter rows=1 bytes=\d\d\n`)
	out, _ = runData(t, exitOK, "inspect", "-keys", "1", dir)
	says(t, out, `key=kept/set`, `smaller_keys=1`, `key=sharding/Order/ids/1`, `smaller_keys=4`)
	if strings.Contains(out, "kept/counter") {
		t.Errorf("more than the largest key is listed:\n%s", out)
	}
	out, _ = runData(t, exitOK, "inspect", "-keys", "-1", dir)
	says(t, out, `key=kept/counter`)
}

func TestVerify(t *testing.T) {
	dir := node(t)
	out, _ := runData(t, exitOK, "verify", dir)
	says(t, out, `role=backend data=user ok=true rows=21 digest=`, `role=backend data=reserved ok=true rows=40 digest=`)
	e, err := lmdb.OpenExisting(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Damage(t, e, rows.Table(keyspace.Dataset{Role: "backend"}))
	out, errs := runData(t, exitFailed, "verify", dir)
	says(t, out, `data=user ok=false damaged=".*20 rows sum to`, `data=reserved ok=true`)
	says(t, errs, regexp.QuoteMeta(dir), `put back a copy`)
	if _, errs := runData(t, exitFailed, "remove", "-key", "kept/c*",
		dir); !strings.Contains(errs, crdt.ErrDigest.Error()) {
		t.Errorf("a damaged table was changed: %s", errs)
	}
}

func TestRemove(t *testing.T) {
	dir := node(t)
	out, _ := runData(t, exitOK, "remove", "-n", "-type", "Cart", "-type", "Order", dir)
	says(t, out, `data=user keys=0 rows=0 removed=false`, `data=reserved keys=5 rows=40 removed=false`)
	out, _ = runData(t, exitOK, "remove", "-type", "Cart", "-key", "kept/c*", dir)
	says(t, out, `data=user keys=1 rows=1 removed=true`, `data=reserved keys=4 rows=20 removed=true`)
	out, _ = runData(t, exitOK, "verify", dir)
	says(t, out, `data=user ok=true rows=20`, `data=reserved ok=true rows=20`)
	out, _ = runData(t, exitOK, "inspect", dir)
	says(t, out, `remembered=Order keys=1 rows=20`, `events=22 origins=2`, `events=41 origins=2`)
	if strings.Contains(out, "Cart") || strings.Contains(out, "kept/counter") {
		t.Errorf("not removed:\n%s", out)
	}
	// the second of them was removed before
	out, _ = runData(t, exitOK, "remove", "-key", "no*", "-key", "kept/c*", dir)
	says(t, out, `key=no\* note="nothing matches`, `key=kept/c\* note="nothing matches`,
		`data=user keys=0 rows=0 removed=true`, `data=reserved keys=0 rows=0 removed=true`)
}

// Names may follow each other, the last word is the directory; a type that is not there is named
// beside those that are, and does not hold up the rest.
func TestRemoveOfSeveralAndUnknownTypes(t *testing.T) {
	dir := node(t)
	for _, args := range [][]string{{"-type", "Typo"}, {"-type", "Cart,Order"}, {"-n", "-type=Cart", "Typo"}} {
		out, _ := runData(t, exitOK, append(append([]string{"remove"}, args...), dir)...)
		says(t, out, `type=(Typo|Cart,Order) note="no entity of it is remembered here; there are Cart, Order"\n`)
	}
	out, _ := runData(t, exitOK, "remove", "-n", "-type", "Cart", "Order", "-key", "kept/c*", "kept/s*", dir)
	says(t, out, `data=user keys=2 rows=21 removed=false`, `data=reserved keys=5 rows=40 removed=false`)
	out, _ = runData(t, exitOK, "remove", "-n", "-key", "*", dir)
	says(t, out, `data=user keys=2 rows=21 removed=false`, `data=reserved keys=0 rows=0 removed=false`)
	out, _ = runData(t, exitOK, "remove", "-n", "-key", "sharding/*/ids/1", dir)
	says(t, out, `data=user keys=0 rows=0 removed=false`, `data=reserved keys=2 rows=25 removed=false`)
	out, _ = runData(t, exitOK, "remove", "-type=Typo", "Cart", "Order", dir)
	says(t, out, `type=Typo note="no entity`, `data=reserved keys=5 rows=40 removed=true`)
	out, _ = runData(t, exitOK, "remove", "-type", "Cart", dir) // again
	says(t, out, `type=Cart note="no entity of it is remembered here; there are none"`,
		`data=user keys=0 rows=0 removed=true`, `data=reserved keys=0 rows=0 removed=true`)
}

func TestDataHelp(t *testing.T) {
	for _, args := range [][]string{
		{"help"}, {"-h"}, {"--help"}, {"inspect", "-h"}, {"remove", "-type", "Cart", "--help"},
	} {
		out, errs := runData(t, exitOK, args...)
		says(t, out, `coterie data inspect`, `coterie data remove`)
		if errs != "" || strings.Contains(out, "help requested") {
			t.Errorf("%q: %s%s", args, errs, out)
		}
	}
}

// The guide shows what help says.
func TestHelpOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../doc/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	all, _ := newFake(t).coterie(t, exitOK, "help")
	data, _ := runData(t, exitOK, "help")
	for of, help := range map[string]string{"coterie help": all, "coterie data help": data} {
		_, block, _ := strings.Cut(string(guide), "<!-- "+of+" -->\n```text\n")
		block, _, _ = strings.Cut(block, "```")
		if block == "" || !strings.Contains(help, block) {
			t.Errorf("%s says\n%s\nand the guide shows\n%s", of, help, block)
		}
	}
}

func TestCompact(t *testing.T) {
	dir := node(t)
	out, _ := runData(t, exitOK, "compact", dir)
	says(t, out, `file=`+dir+`/coterie.store/data.mdb before_bytes=\d+ after_bytes=\d+`)
	runData(t, exitOK, "verify", dir)
}

// Whatever is asked of a directory that a process holds, or that no node has used, is refused and
// changes nothing.
func TestRefusals(t *testing.T) {
	dir, never := node(t), t.TempDir()
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, args := range [][]string{{"inspect"}, {"verify"}, {"compact"}, {"remove", "-type", "Cart"}} {
		_, errs := runData(t, exitFailed, append(args, dir)...)
		says(t, errs, durable.ErrInUse.Error(), regexp.QuoteMeta(dir), `this process|process \d+`)
		_, errs = runData(t, exitFailed, append(args, never)...)
		says(t, errs, durable.ErrForeign.Error(), regexp.QuoteMeta(never), `no node has used it`)
		_, errs = runData(t, exitFailed, append(args, dir+"/missing")...)
		says(t, errs, `no node has used it`)
	}
	if entries, err := os.ReadDir(never); err != nil || len(entries) > 0 {
		t.Errorf("left in an empty directory: %v %v", entries, err)
	}
}

func TestADirectoryWithoutAStore(t *testing.T) {
	dir := t.TempDir()
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.SetNote([]byte("no record")), e.Close()); err != nil {
		t.Fatal(err)
	}
	out, _ := runData(t, exitOK, "inspect", dir)
	says(t, out, `store=false`, `view="9 bytes that can not be read`)
	out, _ = runData(t, exitOK, "verify", dir)
	says(t, out, `no durable key was ever written`)
	runData(t, exitOK, "compact", dir)
	out, _ = runData(t, exitOK, "remove", "-key", "*", dir)
	says(t, out, `nothing matches`)
}

// TestRemoveTakesPatternsOff: a pattern on which the cluster has agreed goes with its rows.
func TestRemoveTakesPatternsOff(t *testing.T) {
	c := membership.LAN()
	c.UID, c.Addr, c.Disk, c.BootstrapExpect, c.DurableKeys = 1, "a:1", 1, 1,
		[]string{"backend\x00other/*", "carts", "other/*"}
	m, err := membership.New(c, rand.New(rand.NewPCG(1, 2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var record []byte
	in := membership.Input(membership.Tick{})
	for m.View() == nil || record == nil {
		if fx := m.Step(time.Unix(1_000_000, 0), in); fx.Persist != nil {
			record = fx.Persist
		}
		in = membership.Persisted{}
	}
	dir := node(t)
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.SetNote(record), e.Close()); err != nil {
		t.Fatal(err)
	}
	out, _ := runData(t, exitOK, "remove", "-n", "-key", "other/*", dir)
	says(t, out, `patterns=\["other/\*"\] removed=false`)
	out, _ = runData(t, exitOK, "remove", "-key", "other/*", dir)
	says(t, out, `patterns=\["other/\*"\] removed=true`)
	out, _ = runData(t, exitOK, "inspect", dir)
	says(t, out, `durable \[\\"other/\* of role backend\\" \\"carts\\"\]`)
	if out, _ = runData(t, exitOK, "remove", "-key", "other/*", dir); strings.Contains(out, "patterns=[") {
		t.Errorf("taken off twice: %s", out)
	}
	out, _ = runData(t, exitOK, "remove", "-role", "frontend", "-key", "other/*", "carts", dir)
	if strings.Contains(out, "patterns=[") || strings.Contains(out, "role=backend") {
		t.Errorf("of another role: %s", out)
	}
	says(t, out, `patterns="other/\* of role backend" note="stays: give -role`,
		`patterns=carts note="stays: it is agreed on for all roles`)
	out, _ = runData(t, exitOK, "remove", "-role", "backend", "-key", "other/*", dir)
	says(t, out, `role=backend`, `patterns=\["other/\* of role backend"\] removed=true`)
	out, _ = runData(t, exitOK, "inspect", dir)
	says(t, out, `durable \[\\"carts\\"\]`)
}

func TestDataUsage(t *testing.T) {
	for _, args := range [][]string{{"destroy", "x"}, {"inspect"}, {"inspect", "a", "b"},
		{"verify", "-loud", "x"}, {"remove", "x"},
		{"remove", "-type", "", "x"}} {
		_, errs := runData(t, exitUsage, args...)
		says(t, errs, `usage`, `coterie help`)
	}
}
