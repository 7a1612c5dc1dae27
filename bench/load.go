package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/storage"
)

// runLoad measures the start of a node whose directory holds a million rows, in a process of its
// own, beside a bare pass over the same rows.
func runLoad(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "store")
	size := o.size(1_000_000)
	if err := fillStore(store, size); err != nil {
		return err
	}
	loader, err := child.Start(ctx, "load", store)
	if err != nil {
		return err
	}
	line, err := loader.Answer()
	loader.End()
	if err != nil {
		return err
	}
	var c loadCost
	if _, err := fmt.Sscan(line, &c.seconds, &c.cpu, &c.rows, &c.peak, &c.heap); err != nil {
		return fmt.Errorf("the child said %q: %w", line, err)
	}
	if c.rows != size {
		return fmt.Errorf("%d rows were loaded of %d", c.rows, size)
	}
	limit, file, err := scanStore(store)
	if err != nil {
		return err
	}
	var f measure.Figures
	f.Add("rows", c.rows)
	f.Add("seconds", c.seconds)
	f.Add("cpu_seconds", c.cpu)
	f.Add("rows_per_s", int(float64(c.rows)/c.seconds))
	f.Add("peak_bytes", c.peak)
	f.Add("heap_bytes", c.heap)
	f.Add("heap_bytes_per_row", float64(c.heap)/float64(c.rows))
	f.Add("file_bytes", file)
	f.Add("limit_rows_per_s", int(limit))
	f.Add("ratio", float64(c.rows)/c.seconds/limit)
	measure.Report("load", "start", f)
	return nil
}

type loadCost struct {
	seconds    float64
	cpu        float64 // seconds of processor time, of all threads
	rows       int
	peak, heap int64 // bytes: of the process at its highest, of live data afterwards
}

// fillStore writes rows as a node does: ten sets, ten thousand elements in a batch.
func fillStore(dir string, size int) error {
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		return err
	}
	t, err := e.Table(rows.Table(keyspace.Dataset{Role: role}))
	if err != nil {
		return err
	}
	const group, sets = 10_000, 10
	rep := crdt.NewReplica(1, crdt.StoreOptions{LogMax: 1})
	for from := 0; from < size && err == nil; from += group {
		var ch crdt.Changes
		_, err = rep.Update(fmt.Sprint("kept/", from/group%sets), 0,
			crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
				for i := from; i < min(from+group, size); i++ {
					if err := s.Add(scattered(uint64(i))); err != nil {
						return err
					}
				}
				return nil
			}), &ch)
		if err == nil {
			err = commitRows(t, rows.Of(storage.Batch{
				Put: slices.Clone(ch.Put), Clock: rep.Store().Clock().Clone(), Digest: rep.Store().Digest(),
			}))
		}
	}
	return errors.Join(err, e.Close())
}

func commitRows(t durable.Table, all []durable.Row) error {
	answer := make(chan error, 1)
	t.Commit(all, func(err error) { answer <- err })
	return <-answer
}

// scanStore passes over all rows and does nothing with them.
func scanStore(dir string) (perSecond float64, file int64, err error) {
	e, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer e.Close()
	t, err := e.Table(rows.Table(keyspace.Dataset{Role: role}))
	if err != nil {
		return 0, 0, err
	}
	n, start := 0, time.Now()
	err = t.Load(func(durable.Row) error { n++; return nil })
	return float64(n) / time.Since(start).Seconds(), e.Stats().File, err
}

// runLoadChild starts a node on a directory and says what that cost.
func runLoadChild(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	start := time.Now()
	n, err := startDurable(ctx, dir)
	if err != nil {
		return err
	}
	defer n.Close()
	c := loadCost{seconds: time.Since(start).Seconds(), cpu: measure.CPUTime().Seconds()}
	if c.peak, err = peakMemory(); err != nil {
		return err
	}
	r, err := n.Replicator(role)
	if err != nil {
		return err
	}
	for i := range 10 {
		set, err := ddata.Get(ctx, r, ddata.NewKey[crdt.ORSet[string]](fmt.Sprint("kept/", i)), ddata.ReadLocal)
		if err != nil {
			return err
		}
		c.rows += set.Len()
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	c.heap = int64(m.HeapAlloc)
	fmt.Println(c.seconds, c.cpu, c.rows, c.peak, c.heap)
	return nil
}

// peakMemory is the most memory that this process ever had in use, the pages of its files included.
func peakMemory() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10, nil
		}
	}
	return 0, errors.New("/proc/self/status does not say VmHWM")
}
