package lmdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

func TestTheMapGrowsUnnoticed(t *testing.T) {
	dir := t.TempDir()
	var grown []MapGrown // on the writer's goroutine; read after Close
	e := mustOpen(t, dir, Options{
		MapSize: 64 << 10, OnEvent: onEvent(func(g MapGrown) { grown = append(grown, g) }),
	})
	tbl := mustTable(t, e, "t")
	n := 0
	for range 300 {
		mustCommit(t, tbl, row(fmt.Sprintf("%06d", n), 5000), row(fmt.Sprintf("%06d", n+1), 10))
		n += 2
	}
	var large []durable.Row
	for range 20_000 {
		large = append(large, row(fmt.Sprintf("%06d", n), 400))
		n++
	}
	mustCommit(t, tbl, large...) // several doublings for one batch
	if got := count(t, tbl); got != n {
		t.Errorf("%d rows of %d", got, n)
	}
	if s := e.Stats(); s.MapSize < s.File || s.File < 9<<20 || s.Failed > 0 {
		t.Errorf("%+v", s)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if len(grown) < 7 || grown[0].From*2 != grown[0].To || !strings.Contains(grown[0].String(), dataName) {
		t.Errorf("grown %v", grown)
	}
	e = mustOpen(t, dir, Options{MapSize: 64 << 10}) // smaller than the file
	if got := count(t, mustTable(t, e, "t")); got != n {
		t.Errorf("%d rows of %d after reopening", got, n)
	}
	mustCommit(t, mustTable(t, e, "t"), row("more", 1<<20))
}

func TestAMapThatCanNotGrowFailsCleanly(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{MapSize: 64 << 10})
	tbl := mustTable(t, e, "t")
	mustCommit(t, tbl, row("a", 10))
	e.h.Load().gate.Lock()
	e.h.Load().mapSize = mapSizeMax
	e.h.Load().gate.Unlock()
	for range 2 {
		if err := commit(tbl, row("b", 1<<20)); !errors.Is(err, durable.ErrIO) ||
			!strings.Contains(err.Error(), "can not grow") {
			t.Errorf("commit: %v", err)
		}
	}
	if err := tbl.Load(func(durable.Row) error { return nil }); !errors.Is(err, durable.ErrIO) {
		t.Errorf("load: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, mustTable(t, mustOpen(t, dir, Options{}), "t")); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// The map is never changed under a load.
func TestGrowthWaitsForLoads(t *testing.T) {
	grown := make(chan MapGrown, 20)
	e := mustOpen(t, t.TempDir(), Options{
		MapSize: 64 << 10, OnEvent: onEvent(func(g MapGrown) { grown <- g }),
	})
	tbl := mustTable(t, e, "t")
	mustCommit(t, tbl, row("a", 1000), row("b", 1000))
	answer := make(chan error, 1)
	err := tbl.Load(func(r durable.Row) error {
		if string(r.Key) == "b" {
			return nil
		}
		tbl.Commit([]durable.Row{row("large", 1<<20)}, func(err error) { answer <- err })
		for e.h.Load().gate.TryRLock() { // until the writer waits to change it
			e.h.Load().gate.RUnlock()
			select {
			case g := <-grown:
				return errors.New("under a load: " + g.String())
			default:
				runtime.Gosched()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if n := count(t, tbl); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// sparse makes a store of which most is free, and says how large its file is.
func sparse(t *testing.T, dir string) int64 {
	t.Helper()
	e := mustOpen(t, dir, Options{})
	tbl := mustTable(t, e, "t")
	var rows, gone []durable.Row
	for i := range 4000 {
		rows = append(rows, row(fmt.Sprintf("%06d", i), 300))
		if i%10 > 0 {
			gone = append(gone, durable.Row{Key: rows[i].Key})
		}
	}
	mustCommit(t, tbl, rows...)
	mustCommit(t, mustTable(t, e, "node"), row("disk", 8))
	mustCommit(t, tbl, gone...)
	mustCommit(t, tbl, row("zz", 5))
	size := e.Stats().File
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return size
}

func TestCompaction(t *testing.T) {
	dir := t.TempDir()
	before := sparse(t, dir)
	check := func(opts Options) int64 {
		t.Helper()
		e := mustOpen(t, dir, opts)
		defer e.Close()
		if n, m := count(t, mustTable(t, e, "t")), count(t, mustTable(t, e, "node")); n != 401 || m != 1 {
			t.Errorf("%d and %d rows", n, m)
		}
		mustCommit(t, mustTable(t, e, "t"), row("zz", 6))
		return e.Stats().File
	}
	var seen []Compacted
	hear := onEvent(func(c Compacted) { seen = append(seen, c) })

	if size := check(Options{OnEvent: hear}); size < before || len(seen) > 0 {
		t.Errorf("a small file was compacted from %d to %d: %v", before, size, seen)
	}
	for _, free := range []float64{-1, 0.99} {
		if size := check(Options{OnEvent: hear, CompactMin: 1, CompactFree: free}); size < before || len(seen) > 0 {
			t.Errorf("compacted from %d to %d although %v must be free: %v", before, size, free, seen)
		}
	}
	for i, fails := range []string{"copy", "rename"} {
		knobs := testKnobs{compacting: func(step string) error {
			if step == fails {
				return syscall.ENOSPC
			}
			return nil
		}}
		if size := check(Options{OnEvent: hear, CompactMin: 1, test: knobs}); size < before {
			t.Errorf("a failed %s left %d of %d bytes", fails, size, before)
		}
		if len(seen) != i+1 || !errors.Is(seen[i].Err, durable.ErrFull) ||
			!strings.Contains(seen[i].String(), "the file is as it was") {
			t.Errorf("observed %v", seen)
		}
	}
	size := check(Options{OnEvent: hear, CompactMin: 1})
	if size > before/3 || len(seen) != 3 || seen[2].Err != nil || seen[2].Before < before ||
		!strings.Contains(seen[2].String(), "compacted from") {
		t.Errorf("%d bytes before and %d after: %v", before, size, seen)
	}
	if check(Options{OnEvent: hear, CompactMin: 1}); len(seen) != 3 {
		t.Errorf("compacted again: %v", seen)
	}
	left(t, dir, lockName, nodeName, storeName)
	left(t, filepath.Join(dir, storeName), dataName, formatName, readerName)
}

// left checks what lies in a directory.
func left(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestCompactOnDemand(t *testing.T) {
	dir := t.TempDir()
	before := sparse(t, dir)
	e := mustOpen(t, dir, Options{})
	if _, err := Compact(dir, Options{}); !errors.Is(err, durable.ErrInUse) {
		t.Errorf("in use: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Compact(dir, Options{})
	if err != nil || c.Before < before || c.After > before/3 {
		t.Errorf("%v, %v", c, err)
	}
	if n := count(t, mustTable(t, mustOpen(t, dir, Options{}), "t")); n != 401 {
		t.Errorf("%d rows", n)
	}
	empty := t.TempDir()
	if _, err := Compact(empty, Options{}); !errors.Is(err, durable.ErrForeign) {
		t.Errorf("a directory that no node has used: %v", err)
	}
	left(t, empty)
	if err := mustOpen(t, empty, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	if c, err := Compact(empty, Options{}); err != nil || c.Before != 0 {
		t.Errorf("a directory without a store: %v, %v", c, err)
	}
}

// A sound file may lack pages that its head counts. The list of free pages, read without LMDB, must
// then say so, at any moment of any history; and it must agree with what LMDB reads.
func TestASoundFileMayBeShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	e := mustOpen(t, t.TempDir(), Options{MapSize: 64 << 10})
	tbl := mustTable(t, e, "t")
	mustCommit(t, tbl, row("first", 1))
	lacking, rounds := 0, 400
	if testing.Short() {
		rounds = 80
	}
	for range rounds {
		var rows []durable.Row
		for range 1 + rng.IntN(60) {
			r := row(fmt.Sprintf("%04d", rng.IntN(600)), []int{1, 50, 900, 9000, 70_000}[rng.IntN(5)])
			if rng.IntN(2) == 0 {
				r.Value = nil
			}
			rows = append(rows, r)
		}
		passing := row("passing", 100_000+rng.IntN(1<<20)) // pages handed out and given back in one transaction
		rows = append(rows, passing, durable.Row{Key: passing.Key})
		mustCommit(t, tbl, rows...)
		info, err := e.h.Load().env.Info()
		if err != nil {
			t.Fatal(err)
		}
		p := &pages{fd: int(e.h.Load().fd)}
		if err := p.check(e.Stats().File); err != nil {
			t.Fatal(err)
		}
		if p.last != uint64(info.LastPNO) {
			t.Fatalf("the last page is %d for us and %d for LMDB", p.last, info.LastPNO)
		}
		if p.have < p.last+1 {
			lacking++
		}
		if theirs, err := e.h.Load().freePages(); err != nil || int64(p.free) != theirs {
			t.Fatalf("we count %d free pages and LMDB counts %d (%v)", p.free, theirs, err)
		}
	}
	if lacking == 0 {
		t.Fatal("no file was shorter than its head says; the test shows nothing")
	}
	t.Logf("%d of %d files were shorter than their heads say", lacking, rounds)
}

// Whatever the bytes of a file, checking it ends with an answer or an error.
func FuzzCheckFile(f *testing.F) {
	dir := f.TempDir()
	e := mustOpen(f, dir, Options{})
	tbl := mustTable(f, e, "t")
	for i := range 30 {
		mustCommit(f, tbl, row(fmt.Sprint(i), 5000), durable.Row{Key: []byte(fmt.Sprint(i - 2))})
	}
	if err := e.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, storeName, dataName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	path := filepath.Join(dir, "fuzzed")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		var known *durable.Error
		if err := checkFile(path); err != nil && !errors.As(err, &known) {
			t.Fatal(err)
		}
	})
}

// The rules of this version of LMDB that a later one may lift, as far as they can be looked at
// safely.
func TestWhatLMDBIs(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{})
	mustCommit(t, mustTable(t, e, "t"), row("a", 1))
	if n := e.h.Load().env.MaxKeySize(); n != durable.KeyMax {
		t.Errorf("keys of %d bytes fit, the port says %d", n, durable.KeyMax)
	}
	if flags, err := e.h.Load().env.Flags(); err != nil ||
		flags&(lmdb.NoSync|lmdb.NoMetaSync|lmdb.WriteMap|lmdb.MapAsync) != 0 {
		t.Errorf("flags %x (%v): commits would not be durable", flags, err)
	}
}
