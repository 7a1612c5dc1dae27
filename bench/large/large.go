package large

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/proptest/ports"
)

const (
	// perRow is how much memory a node is given for a row, in bytes: what it needs, and as much again for garbage.
	// That must be less than half of it, which a limit sees to.
	perRow = 200
	// pairs is by how much less each of two nodes holds: both have theirs in one machine's memory.
	pairs = 4
	// apart is in how many elements the two differ.
	apart = 1000
	// longer is how many times the time of a case the loads last.
	longer = 5
)

// Run measures a node on a directory with so many rows, and two nodes that hold a quarter of it.
func Run(ctx context.Context, d time.Duration, size int) error {
	memory := measure.FreeMemory()
	size = int(min(int64(size), memory/perRow))
	dir, err := os.MkdirTemp("", "bench-large")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := one(ctx, filepath.Join(dir, "one"), d, size, memory); err != nil {
		return fmt.Errorf("one node: %w", err)
	}
	return two(ctx, filepath.Join(dir, "two"), size/pairs, memory)
}

// one measures the start of a node, and its answers while garbage is collected.
func one(ctx context.Context, dir string, d time.Duration, size int, memory int64) error {
	defer os.RemoveAll(dir)
	if err := fillElsewhere(ctx, dir, size); err != nil {
		return err
	}
	limit, file, err := scanStore(dir)
	if err != nil {
		return err
	}
	k, err := startKeeper(ctx, dir, 0)
	if err != nil {
		return err
	}
	defer k.end()
	if _, err := k.ask(fmt.Sprint("limit ", memory*9/10), 1); err != nil {
		return err
	}
	s, err := k.start(size)
	if err != nil {
		return err
	}
	measure.Report("large", "start", s.figures(limit, file))
	quiet, err := k.loaded(func() error { return measure.Pass(ctx, longer*d) })
	if err != nil {
		return err
	}
	if _, err := k.ask("collect 0", 1); err != nil {
		return err
	}
	busy, err := k.loaded(func() error { return measure.Pass(ctx, longer*d) })
	if err != nil {
		return err
	}
	waste, err := k.ask("collected", 5)
	if err != nil {
		return err
	}
	var f measure.Figures
	f.Add("rows", size)
	f.Add("cycles", int(waste[0]))
	f.Add("live_bytes", int64(waste[1]))
	f.Add("pause_p50_us", waste[2])
	f.Add("pause_p99_us", waste[3])
	f.Add("pause_most_us", waste[4])
	latencies(&f, busy, quiet)
	measure.Report("large", "garbage", f)
	return nil
}

// two measures a node that takes all from another one, and that was away while a little changed.
func two(ctx context.Context, dir string, size int, memory int64) error {
	var dirs [2]string
	for i := range dirs {
		dirs[i] = filepath.Join(dir, fmt.Sprint(i))
	}
	if err := fillElsewhere(ctx, dirs[0], size); err != nil {
		return err
	}
	addrs, err := ports.Free(len(dirs))
	if err != nil {
		return err
	}
	var k [len(dirs)]*keeper
	for i := range k {
		if k[i], err = startKeeper(ctx, dirs[i], i, addrs...); err != nil {
			return err
		}
		defer k[i].end()
		if _, err := k[i].ask(fmt.Sprint("limit ", memory*9/20), 1); err != nil {
			return err
		}
	}
	alone, err := k[0].start(size)
	if err != nil {
		return err
	}
	if err := join(k, size, alone); err != nil {
		return fmt.Errorf("joining: %w", err)
	}
	if err := repair(k, size, alone); err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	return compact(k[1], dirs[1], size+apart)
}

// join measures the start of a node without data.
func join(k [2]*keeper, size int, alone started) error {
	before, err := k[0].ask("heap", 1)
	if err != nil {
		return err
	}
	sent, err := k[0].ask("sent", 1)
	if err != nil {
		return err
	}
	for _, one := range k { // a tenth of the time, so that it is seen how much they have in use
		if _, err := one.ask("collect 9", 1); err != nil {
			return err
		}
	}
	var s started
	lat, err := k[0].loaded(func() (err error) { s, err = k[1].start(size); return err })
	if err != nil {
		return err
	}
	var waste [len(k)][]float64
	for i, one := range k {
		if waste[i], err = one.ask("collected", 5); err != nil {
			return err
		}
	}
	after, err := k[0].ask("sent", 1)
	if err != nil {
		return err
	}
	var f measure.Figures
	f.Add("rows", size)
	f.Add("seconds", s.seconds)
	f.Add("rows_per_s", int(float64(size)/s.seconds))
	f.Add("bytes_per_row", (after[0]-sent[0])/float64(size))
	f.Add("heap_bytes", s.heap)
	f.Add("giver_extra_bytes", int64(waste[0][1]-before[0]))
	f.Add("taker_extra_bytes", int64(waste[1][1])-s.heap)
	latencies(&f, lat, nil)
	f.Add("limit_seconds", alone.seconds)
	f.Add("ratio", s.seconds/alone.seconds)
	measure.Report("large", "join", f)
	return nil
}

// repair measures the start of a node that has missed a little.
func repair(k [2]*keeper, size int, alone started) error {
	if _, err := k[1].ask("stop", 1); err != nil {
		return err
	}
	if _, err := k[0].ask(fmt.Sprint("change ", apart), 1); err != nil {
		return err
	}
	sent, err := k[0].ask("sent", 1)
	if err != nil {
		return err
	}
	var s started
	lat, err := k[0].loaded(func() (err error) { s, err = k[1].start(size + apart); return err })
	if err != nil {
		return err
	}
	after, err := k[0].ask("sent", 1)
	if err != nil {
		return err
	}
	if s.repairs == 0 {
		return errors.New("the node was not repaired")
	}
	var f measure.Figures
	f.Add("rows", size+apart)
	f.Add("apart", apart)
	f.Add("seconds", s.seconds)
	f.Add("bytes", int64(after[0]-sent[0]))
	latencies(&f, lat, nil)
	f.Add("limit_seconds", alone.seconds)
	f.Add("ratio", s.seconds/alone.seconds)
	measure.Report("large", "repair", f)
	return nil
}

// compact measures what is done to a store of which much is free when a node starts on it.
func compact(k *keeper, dir string, size int) error {
	if _, err := k.ask("stop", 1); err != nil {
		return err
	}
	begun := time.Now()
	c, err := lmdb.Compact(dir, lmdb.Options{})
	if err != nil {
		return err
	}
	var f measure.Figures
	f.Add("rows", size)
	f.Add("seconds", time.Since(begun).Seconds())
	f.Add("before_bytes", c.Before)
	f.Add("after_bytes", c.After)
	measure.Report("large", "compaction", f)
	return nil
}

// loaded has the node read and written while something is done, and returns how long that took.
func (k *keeper) loaded(do func() error) ([]float64, error) {
	if _, err := k.ask("begin", 1); err != nil {
		return nil, err
	}
	err := do()
	lat, ended := k.ask("end", 2*len(parts))
	return lat, errors.Join(err, ended)
}

// latencies says how long parts of reads and writes took, beside the same while nothing else was done, if there is
// such.
func latencies(f *measure.Figures, lat, quiet []float64) {
	for i, kind := range []string{"get", "write"} {
		for j, part := range []string{"p50", "p99", "p99_9", "most"} {
			at := i*len(parts) + j
			f.Add(kind+"_"+part+"_us", lat[at])
			if quiet != nil {
				f.Add("limit_"+kind+"_"+part+"_us", quiet[at])
			}
		}
	}
}
