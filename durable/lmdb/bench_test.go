package lmdb

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/durable"
)

// callersOf runs b.N operations on that many goroutines, each with keys of its own choosing out of
// a scattered sequence.
func callersOf(b *testing.B, callers int, op func(key []byte)) {
	var next atomic.Uint64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > uint64(b.N) {
					return
				}
				op(scattered(n))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// scattered makes 16-byte keys that fall anywhere in the tree.
func scattered(n uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, bits.Reverse64(n*0x9E3779B97F4A7C15)), n)
}

var value100 = row("", 100).Value

// Each caller commits one row and waits for it: the store against LMDB with a transaction per
// caller, in one run on one disk.
func BenchmarkCallers(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("store/%d", callers), func(b *testing.B) {
			e := mustOpen(b, b.TempDir(), Options{})
			tbl := mustTable(b, e, "t")
			answers := sync.Pool{New: func() any { return make(chan error, 1) }}
			callersOf(b, callers, func(key []byte) {
				answer := answers.Get().(chan error)
				tbl.Commit([]durable.Row{{Key: key, Value: value100}}, func(err error) { answer <- err })
				if err := <-answer; err != nil {
					b.Error(err)
				}
				answers.Put(answer)
			})
			s := e.Stats()
			b.ReportMetric(float64(s.Rows)/float64(max(s.Commits, 1)), "rows/commit")
		})
		b.Run(fmt.Sprintf("raw/%d", callers), func(b *testing.B) {
			h := rawHandle(b)
			dbi, err := h.openTable("t", true)
			if err != nil {
				b.Fatal(err)
			}
			callersOf(b, callers, func(key []byte) {
				if err := h.env.Update(func(txn *lmdb.Txn) error {
					return txn.Put(dbi, key, value100, 0)
				}); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

func rawHandle(b *testing.B) *handle {
	b.Helper()
	opts, err := Options{}.WithDefaults()
	if err != nil {
		b.Fatal(err)
	}
	h, err := openHandle(b.TempDir(), opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(h.close)
	return h
}

// One caller that does not wait for each batch: this is what a machine does that gathers while a
// batch is in flight.
func BenchmarkBatches(b *testing.B) {
	for _, size := range []int{1, 100, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e := mustOpen(b, b.TempDir(), Options{})
			tbl := mustTable(b, e, "t")
			n := uint64(0)
			for b.Loop() {
				rows := make([]durable.Row, size)
				for i := range rows {
					n++
					rows[i] = durable.Row{Key: scattered(n), Value: value100}
				}
				mustCommit(b, tbl, rows...)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// A start: opening, and loading rows.
func BenchmarkLoad(b *testing.B) {
	const rows = 200_000
	dir := filepath.Join(b.TempDir(), "store")
	e := mustOpen(b, dir, Options{})
	tbl := mustTable(b, e, "t")
	var batch []durable.Row
	for n := range uint64(rows) {
		batch = append(batch, durable.Row{Key: scattered(n), Value: value100})
	}
	mustCommit(b, tbl, batch...)
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e := mustOpen(b, dir, Options{})
		if n := count(b, mustTable(b, e, "t")); n != rows {
			b.Fatal(n)
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
