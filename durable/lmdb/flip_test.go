package lmdb

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

func init() { children["flip"] = flipBits }

// A file with flipped bits is refused with its path and a remedy, or read and written to the end.
// It never ends the process, which LMDB does by itself: so a process of its own opens such files,
// and says before each which one it is.
func TestFlippedBitsEndNoProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	c := newChild("flip", dir)
	if testing.Short() {
		c.Env = append(c.Env, shortEnv+"=1")
	}
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if round, _ := os.ReadFile(roundFile(dir)); t.Failed() {
			t.Logf("it came to round %s", round)
		}
	}()
	t.Log(c.finish(t))
}

// roundFile is where the child says which file it opens.
func roundFile(dir string) string { return filepath.Join(filepath.Dir(dir), "round") }

const shortEnv = "COTERIE_LMDB_TEST_SHORT"

func flipBits(dir string) error {
	store := filepath.Join(dir, storeName, dataName)
	if err := manyPages(dir); err != nil {
		return err
	}
	whole, err := os.ReadFile(store)
	if err != nil {
		return err
	}
	if err := useAll(dir); err != nil {
		return fmt.Errorf("the whole file: %w", err)
	}
	rounds, refused := 300, 0
	if os.Getenv(shortEnv) != "" {
		rounds = 60
	}
	for round := range rounds {
		flipped := flip(bytes.Clone(whole), rand.New(rand.NewPCG(5, uint64(round))))
		if err := os.WriteFile(store, flipped, 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(roundFile(dir), fmt.Append(nil, round), 0o600); err != nil {
			return err
		}
		err := useAll(dir)
		var known *durable.Error
		switch {
		case err == nil:
		case !errors.As(err, &known) || !strings.HasPrefix(known.Path, dir) || known.Remedy == "":
			return fmt.Errorf("round %d: %w", round, err)
		default:
			refused++
		}
	}
	if refused < rounds/4 {
		return fmt.Errorf("%d of %d files were refused; the test shows little", refused, rounds)
	}
	fmt.Printf("%d of %d files with flipped bits were refused\n", refused, rounds)
	return nil
}

// flip turns a bit, or a few, most of the time where LMDB keeps the structure of a page.
func flip(b []byte, rng *rand.Rand) []byte {
	page := os.Getpagesize()
	for range 1 + rng.IntN(2) {
		at := rng.IntN(len(b))
		if rng.IntN(4) > 0 {
			at = at/page*page + rng.IntN(80)
		}
		b[at] ^= 1 << rng.IntN(8)
	}
	return b
}

// manyPages makes a store with trees of several levels, large values and free pages.
func manyPages(dir string) error {
	e, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	for _, name := range []string{"t", "other"} {
		tbl, err := e.Table(name)
		if err != nil {
			return err
		}
		var put, gone []durable.Row
		for i := range 600 {
			put = append(put, row(fmt.Sprintf("%0300d", i*7919%1000), sizeOf(i)))
			if i%4 == 0 {
				gone = append(gone, durable.Row{Key: put[i].Key})
			}
		}
		if err := errors.Join(commit(tbl, put...), commit(tbl, gone...), commit(tbl, row("x", 10))); err != nil {
			return err
		}
	}
	return e.Close()
}

// sizeOf is that of a row's value: one in fifty lies in pages of its own.
func sizeOf(i int) int {
	if i%50 == 0 {
		return 9000
	}
	return 20 + i%300
}

// useAll reads every row, writes all over the place, deletes every row, and opens the file once
// more.
func useAll(dir string) error {
	for range 2 {
		e, err := OpenExisting(dir, Options{})
		if err != nil {
			return err
		}
		if err := errors.Join(useTable(e, "t"), useTable(e, "other"), e.Close()); err != nil {
			return err
		}
	}
	return nil
}

func useTable(e *Env, name string) error {
	tbl, err := e.Table(name)
	if err != nil {
		return err
	}
	var keys []durable.Row
	read := func(r durable.Row) error {
		keys = append(keys, durable.Row{Key: bytes.Clone(r.Key)})
		return nil
	}
	if err := tbl.Load(read); err != nil {
		return err
	}
	var more []durable.Row
	for i := range 200 {
		more = append(more, row(fmt.Sprintf("%0300d", i*7907%1000), sizeOf(i)))
	}
	if err := commit(tbl, more...); err != nil {
		return err
	}
	return commit(tbl, append(keys, row("again", 300))...)
}
