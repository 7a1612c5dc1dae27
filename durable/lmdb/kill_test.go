package lmdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

// The batches of the kill test are numbered in the order of their Commit calls. Batch n
//
//   - puts rows "n 0" … up to "n 4", one of some of them larger than a page,
//   - puts "x n" and deletes "x n-1", so that of the rows "x" just one is there after any cut.
//
// So what a store holds after a kill can be told exactly: all batches up to some number, whole, and
// that number is not below the highest acknowledged.
const killCallers = 64

func killBatch(n uint64) []durable.Row {
	var rows []durable.Row
	for i := range 1 + n%5 {
		size := 100
		if (n+i)%7 == 0 {
			size = 6000
		}
		rows = append(rows, durable.Row{Key: killKey('b', n, byte(i)), Value: bytes.Repeat([]byte{byte(n) | 1}, size)})
	}
	return append(rows,
		durable.Row{Key: killKey('x', n, 0), Value: []byte{1}},
		durable.Row{Key: killKey('x', n-1, 0)})
}

func killKey(kind byte, n uint64, i byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{kind}, n), i)
}

// writeForEver commits from many goroutines, two batches in flight each, and says the number of
// each batch that was acknowledged.
func writeForEver(dir string) error {
	e, err := Open(dir, Options{MapSize: 1 << 20}) // the map grows under way
	if err != nil {
		return err
	}
	tbl, err := e.Table("t")
	if err != nil {
		return err
	}
	last, err := killState(tbl)
	if err != nil {
		return err
	}
	var out lines
	var order sync.Mutex // a number and its place in the queue are taken together
	var callers sync.WaitGroup
	for range killCallers {
		callers.Go(func() {
			inFlight := make(chan struct{}, 2)
			for {
				inFlight <- struct{}{}
				order.Lock()
				last++
				n := last
				tbl.Commit(killBatch(n), func(err error) {
					if err == nil {
						out.say(int(n))
					}
					<-inFlight
				})
				order.Unlock()
			}
		})
	}
	callers.Wait()
	return nil
}

// killState says up to which batch a store holds all, or what is wrong with it.
func killState(tbl durable.Table) (last uint64, err error) {
	rows := make(map[string][]byte)
	err = tbl.Load(func(r durable.Row) error {
		rows[string(r.Key)] = bytes.Clone(r.Value)
		if r.Key[0] == 'x' {
			last = binary.BigEndian.Uint64(r.Key[1:])
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	want := 0
	for n := uint64(1); n <= last; n++ {
		for _, r := range killBatch(n) {
			if r.Key[0] != 'b' {
				continue
			}
			want++
			if !bytes.Equal(rows[string(r.Key)], r.Value) {
				return last, fmt.Errorf("batch %d of %d is torn: row %x has %d bytes, want %d",
					n, last, r.Key, len(rows[string(r.Key)]), len(r.Value))
			}
		}
	}
	if last > 0 {
		want++ // the one row "x"
	}
	if len(rows) != want {
		return last, fmt.Errorf("%d rows of batches up to %d, want %d", len(rows), last, want)
	}
	return last, nil
}

// Every acknowledged batch is found after a kill -9, whole and in order.
func TestKill(t *testing.T) {
	dir := ""
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 50
	total := 0
	for round := range rounds {
		if round%10 == 0 { // what is looked at after each kill stays small
			dir = t.TempDir()
		}
		c := startChild(t, "write", dir)
		acked, patience := 0, 20+rng.IntN(800)
		for range patience {
			if l := c.line(); l != "" {
				acked = max(acked, number(t, l))
				continue
			}
			t.Fatalf("round %d: the child ended early: %s", round, c.stderr.String())
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		seen := patience
		for l := c.line(); l != ""; l = c.line() { // what it said before it died
			acked = max(acked, number(t, l))
			seen++
		}
		_ = c.Wait()
		total += seen

		e := mustOpen(t, dir, Options{})
		last, err := killState(mustTable(t, e, "t"))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if last < uint64(acked) {
			t.Fatalf("round %d: batch %d was acknowledged and %d is the last that is there", round, acked, last)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d batches acknowledged over %d kills, none lost", total, rounds)
}

func number(t *testing.T, line string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(line, &n); err != nil {
		t.Fatalf("the child said %q: %v", line, err)
	}
	return n
}
