package lmdb

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

// Nothing but a batch with rows makes a store: not opening, tables, loads, barriers, refused
// batches, nor notes.
func TestTheFirstRowsMakeTheStore(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		e := mustOpen(t, dir, Options{})
		tbl := mustTable(t, e, "t")
		if n := count(t, tbl); n != 0 {
			t.Errorf("%d rows", n)
		}
		mustCommit(t, tbl)
		if err := commit(tbl, durable.Row{Key: []byte("k"), Value: []byte{}}); !errors.Is(err, durable.ErrBadRow) {
			t.Error(err)
		}
		if err := e.SetNote([]byte("note")); err != nil {
			t.Error(err)
		}
		if s := e.Stats(); s.File != 0 || s.Commits != 0 {
			t.Errorf("%+v", s)
		}
		if c, err := e.Contents(); err != nil || c.Store || c.ID != e.ID() || c.ID == 0 {
			t.Errorf("%+v, %v", c, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		left(t, dir, lockName, nodeName)
	}
	e := mustOpen(t, dir, Options{})
	other, tbl := mustTable(t, e, "other"), mustTable(t, e, "t")
	mustCommit(t, tbl, row("a", 10))
	left(t, dir, lockName, nodeName, storeName)
	if n, m := count(t, tbl), count(t, other); n != 1 || m != 0 {
		t.Errorf("%d and %d rows", n, m)
	}
	c, err := e.Contents()
	if err != nil || !c.Store || c.Format != formatVersion || !slices.Equal(c.Tables, []string{"t"}) ||
		c.File < 16<<10 || c.Free > c.File {
		t.Errorf("%+v, %v", c, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = mustOpen(t, dir, Options{})
	if n := count(t, mustTable(t, e, "t")); n != 1 || e.ID() != c.ID {
		t.Errorf("%d rows, id %x, was %x", n, e.ID(), c.ID)
	}
	mustCommit(t, mustTable(t, e, "later"), row("b", 1))
	if c, err := e.Contents(); err != nil || !slices.Equal(c.Tables, []string{"later", "t"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// A store that can not be made fails the batch that needed it, with the reason, and the next batch
// makes it.
func TestAStoreThatCanNotBeMadeYet(t *testing.T) {
	dir := t.TempDir()
	failed := make(chan CommitFailed, 1)
	e := mustOpen(t, dir, Options{OnEvent: onEvent(func(c CommitFailed) { failed <- c })})
	tbl := mustTable(t, e, "t")
	inTheWay := filepath.Join(dir, storeName)
	if err := os.Symlink("nowhere", inTheWay); err != nil {
		t.Fatal(err)
	}
	err := commit(tbl, row("a", 1))
	if !errors.Is(err, durable.ErrCorrupt) || !strings.Contains(err.Error(), storeName) {
		t.Errorf("commit: %v", err)
	}
	if c := <-failed; c.Batches != 1 || !strings.Contains(c.String(), dir) {
		t.Errorf("observed %v", c)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, tbl, row("a", 1))
	if n := count(t, tbl); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// The process dies between making the store and noting it, or earlier: the next one goes on from
// there, and nothing was acknowledged.
func TestAStoreThatWasNotNoted(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{})
	if err := makeStore(dir, e.ID(), e.opts); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = mustOpen(t, dir, Options{})
	if !e.node.get().Made {
		t.Error("the store was found and not noted")
	}
	mustCommit(t, mustTable(t, e, "t"), row("a", 1))
}

func TestNotes(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{})
	if n := e.Note(); n != nil {
		t.Errorf("the first note is %q", n)
	}
	long := bytes.Repeat([]byte("view "), NoteMax/5)
	for i := range 5 {
		for _, note := range [][]byte{fmt.Appendf(nil, "note %d", i), long, {}} {
			if err := e.SetNote(note); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if err := e.SetNote(note); !errors.Is(err, durable.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			id := e.ID()
			if e = mustOpen(t, dir, Options{}); !bytes.Equal(e.Note(), note) || e.ID() != id {
				t.Fatalf("read %.20q of %d bytes, wrote %.20q of %d", e.Note(), len(e.Note()), note, len(note))
			}
		}
	}
	if err := e.SetNote(make([]byte, NoteMax+1)); !errors.Is(err, durable.ErrTooLarge) ||
		!strings.Contains(err.Error(), nodeName) {
		t.Errorf("too long: %v", err)
	}
}

// A note is written over the older half, so that whatever a cut makes of that half, the one before
// is found.
func TestANoteThatIsCut(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Options{})
	for _, note := range []string{"one", "two", "three"} {
		if err := e.SetNote([]byte(note)); err != nil {
			t.Fatal(err)
		}
	}
	count := e.node.count
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, nodeName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newest := slotAt(count)
	for at := range int64(60) {
		cut := bytes.Clone(whole)
		clear(cut[newest+at : newest+at+40])
		if bytes.Equal(cut, whole) {
			continue // nothing but zeros there
		}
		if err := os.WriteFile(path, cut, 0o600); err != nil {
			t.Fatal(err)
		}
		e := mustOpen(t, dir, Options{})
		if string(e.Note()) != "two" {
			t.Fatalf("cut at %d: note %q", at, e.Note())
		}
		if err := e.SetNote([]byte("four")); err != nil || string(e.Note()) != "four" {
			t.Fatalf("cut at %d: then %q, %v", at, e.Note(), err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever the bytes of a node file, reading it ends with what was put there whole, or an error
// that names it.
func FuzzNodeFile(f *testing.F) {
	dir := f.TempDir()
	e := mustOpen(f, dir, Options{})
	if err := e.SetNote([]byte("a note")); err != nil {
		f.Fatal(err)
	}
	id := e.ID()
	if err := e.Close(); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, nodeName))
	if err != nil {
		f.Fatal(err)
	}
	head, first, second := whole[:64], whole[slotAt(0):][:64], whole[slotAt(1):][:64] // the rest is zeros
	f.Add(head, first, second)
	f.Add(head, second, first)
	f.Add(head[:30], first[:30], second[:10])
	f.Fuzz(func(t *testing.T, head, first, second []byte) {
		content := make([]byte, nodeSize)
		copy(content[:nodeHeadSize], head)
		copy(content[slotAt(0):][:slotSize], first)
		copy(content[slotAt(1):][:slotSize], second)
		s, n, err := decodeNode("coterie.node", content)
		if err != nil {
			if !strings.Contains(err.Error(), "coterie.node") {
				t.Fatalf("the message does not name the file: %v", err)
			}
			return
		}
		if n == 0 || s.ID == 0 || len(s.Note) > slotSize {
			t.Fatalf("slot %d: id %x, note of %d bytes", n, s.ID, len(s.Note))
		}
		_ = id
	})
}
