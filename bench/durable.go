package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatsuo/lmdb-go/lmdb"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
)

// runDurable measures durable writes of one node: many callers beside raw LMDB with a transaction
// for each of them, and what an insert costs as the set grows.
func runDurable(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-durable")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := durableCallers(ctx, dir, o.d); err != nil {
		return err
	}
	return durableGrowth(ctx, filepath.Join(dir, "growth"), o)
}

func durableCallers(ctx context.Context, dir string, d time.Duration) error {
	n, r, raw, err := startBesideRaw(ctx, dir)
	if err != nil {
		return err
	}
	defer n.Close()
	defer raw.env.Close()
	for _, callerCount := range []int{1, 16, 256} {
		key := ddata.NewKey[crdt.ORSet[string]]("kept/" + strconv.Itoa(callerCount))
		before := n.StoreStats()
		var l, limit measure.Load
		const turns = 8 // they share what else the disk has to do
		for t := range uint64(turns) {
			if err := limit.More(callerCount, d/turns, func(c, i int) error {
				return raw.put(uint64(callerCount)<<48 | t<<40 | uint64(c)<<24 | uint64(i))
			}); err != nil {
				return err
			}
			if err := l.More(callerCount, d/turns, func(c, i int) error {
				return insert(ctx, r, key, t<<40|uint64(c)<<24|uint64(i))
			}); err != nil {
				return err
			}
		}
		f := l.Figures()
		f.Add("ops_per_commit", float64(l.Ops)/float64(n.StoreStats().Commits-before.Commits))
		f.Add("limit_ops_per_s", int(limit.PerSecond()))
		f.Add("limit_p50_us", limit.Percentile(0.5))
		f.Add("ratio", l.PerSecond()/limit.PerSecond())
		measure.Report("durable", "insert-"+strconv.Itoa(callerCount)+"-callers", f)
	}
	return nil
}

func startDurable(ctx context.Context, dir string) (*ddata.Node, error) {
	addrs, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	return ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: addrs[0], BootstrapExpect: 1, Roles: []string{role}, Preset: ddata.Local, Dir: dir,
		DurableKeys:    []string{"kept/*"},
		RequestTimeout: time.Minute, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// startBesideRaw starts a node, and beside it a store that is used without one.
func startBesideRaw(ctx context.Context, dir string) (*ddata.Node, *ddata.Replicator, *rawStore, error) {
	n, err := startDurable(ctx, filepath.Join(dir, "node"))
	if err != nil {
		return nil, nil, nil, err
	}
	r, err := n.Replicator(role)
	if err != nil {
		return nil, nil, nil, errors.Join(err, n.Close())
	}
	raw, err := openRaw(filepath.Join(dir, "raw"))
	if err != nil {
		return nil, nil, nil, errors.Join(err, n.Close())
	}
	return n, r, raw, nil
}

func insert(ctx context.Context, r *ddata.Replicator, key ddata.Key[crdt.ORSet[string]], n uint64) error {
	return ddata.Update(ctx, r, key, ddata.WriteLocal,
		func(s *crdt.ORSetTx[string]) error { return s.Add(measure.Scattered(n)) })
}

// rawStore is LMDB without us: a transaction and a sync for each row, which is as long as one of
// ours and goes to the end of the table as ours do.
type rawStore struct {
	env *lmdb.Env
	dbi lmdb.DBI
}

const rawRow = 60 // bytes of the value of an item row with a 16-byte element

func openRaw(dir string) (*rawStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	env, err := lmdb.NewEnv()
	if err == nil {
		err = errors.Join(env.SetMapSize(16<<30), env.SetMaxDBs(1))
	}
	if err == nil {
		err = env.Open(dir, 0, 0o600)
	}
	if err != nil {
		return nil, err
	}
	s := &rawStore{env: env}
	err = env.Update(func(txn *lmdb.Txn) (err error) {
		s.dbi, err = txn.OpenDBI("rows", lmdb.Create)
		return err
	})
	return s, err
}

func (s *rawStore) put(n uint64) error {
	return s.env.Update(func(txn *lmdb.Txn) error { return s.row(txn, n) })
}

func (s *rawStore) row(txn *lmdb.Txn, n uint64) error {
	var key [17]byte
	binary.BigEndian.PutUint64(key[9:], n)
	return txn.Put(s.dbi, key[:], make([]byte, rawRow), 0)
}

// The growth of one set. Each size has a process of its own, so that each pays for its own heap,
// and all take turns, so that each gets its share of whatever else the machine does.
const (
	growthRounds  = 12
	growthCallers = 64
	growthOne     = 400  // inserts of one caller in a turn
	growthMany    = 3200 // of many
)

// turn is what one turn of a child measured, in µs per insert: of one caller, of many, of raw LMDB
// with one caller, and the processor time of each.
type turn [6]float64

// The figures of a turn.
const (
	byOne = iota
	byMany
	byRaw
	cpuOne
	cpuMany
	cpuRaw
)

func durableGrowth(ctx context.Context, dir string, o options) error {
	sizes := []int{1, o.size(10_000), o.size(100_000), o.size(1_000_000)}
	sizes = slices.Compact(sizes)
	grown := make([]*child.Process, len(sizes))
	turns := make([][]turn, len(sizes))
	for i, size := range sizes {
		c, err := child.Start(ctx, "grown", size, filepath.Join(dir, strconv.Itoa(size)))
		if err != nil {
			return err
		}
		defer c.End()
		if _, err := c.Answer(); err != nil { // the set has its size
			return err
		}
		grown[i] = c
	}
	for range growthRounds {
		for i, c := range grown {
			t, err := takeTurn(c)
			if err != nil {
				return err
			}
			turns[i] = append(turns[i], t)
		}
	}
	first := middle(turns[0])
	for i, size := range sizes {
		m := middle(turns[i])
		for _, c := range []struct {
			callers, wall, cpu int
		}{{1, byOne, cpuOne}, {growthCallers, byMany, cpuMany}} {
			var f measure.Figures
			f.Add("us_per_insert", m[c.wall])
			f.Add("ratio_to_1", m[c.wall]/first[c.wall])
			f.Add("cpu_us_per_insert", m[c.cpu])
			f.Add("cpu_ratio_to_1", m[c.cpu]/first[c.cpu])
			if c.callers == 1 {
				f.Add("limit_us_per_insert", m[byRaw])
				f.Add("limit_ratio_to_1", m[byRaw]/first[byRaw])
				f.Add("limit_cpu_us_per_insert", m[cpuRaw])
				f.Add("limit_cpu_ratio_to_1", m[cpuRaw]/first[cpuRaw])
			}
			measure.Report("durable", fmt.Sprintf("insert-into-%d-by-%d-callers", size, c.callers), f)
		}
	}
	return nil
}

// middle is the median of each figure.
func middle(all []turn) (m turn) {
	for i := range m {
		slices.SortFunc(all, func(a, b turn) int { return cmp.Compare(a[i], b[i]) })
		m[i] = all[len(all)/2][i]
	}
	return m
}

// takeTurn has a process with a set of some size insert, and measure.
func takeTurn(c *child.Process) (t turn, err error) {
	line, err := c.Ask("go")
	if err == nil {
		_, err = fmt.Sscan(line, &t[byOne], &t[byMany], &t[byRaw], &t[cpuOne], &t[cpuMany], &t[cpuRaw])
	}
	return t, err
}

// runGrown is main of such a process.
func runGrown(size int, dir string) error {
	ctx := context.Background()
	n, r, raw, err := startBesideRaw(ctx, dir)
	if err != nil {
		return err
	}
	defer n.Close()
	defer raw.env.Close()
	if err := fill(ctx, r, raw, size); err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	for i := uint64(1); ; i++ {
		if _, err := in.ReadString('\n'); err != nil {
			return nil
		}
		t, err := measureTurn(ctx, r, raw, size, i)
		if err != nil {
			return err
		}
		fmt.Println(t[byOne], t[byMany], t[byRaw], t[cpuOne], t[cpuMany], t[cpuRaw])
	}
}

// fill makes the set, and the table beside it, as large as they should be.
func fill(ctx context.Context, r *ddata.Replicator, raw *rawStore, size int) error {
	const group = 10_000
	for from := 0; from < size; from += group {
		to := min(from+group, size)
		err := ddata.Update(ctx, r, grownKey(size, 0), ddata.WriteLocal, func(s *crdt.ORSetTx[string]) error {
			for i := from; i < to; i++ {
				if err := s.Add(measure.Scattered(uint64(i))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := raw.env.Update(func(txn *lmdb.Txn) error {
			for i := from; i < to; i++ {
				if err := raw.row(txn, uint64(i)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// grownKey is the set that a turn inserts into: the large one, or a new one each time where it
// should be small.
func grownKey(size int, turn uint64) ddata.Key[crdt.ORSet[string]] {
	if size > 1 {
		turn = 0
	}
	return ddata.NewKey[crdt.ORSet[string]](fmt.Sprint("kept/", turn))
}

func measureTurn(ctx context.Context, r *ddata.Replicator, raw *rawStore, size int, i uint64) (t turn, err error) {
	key, base := grownKey(size, i), i<<40
	perOp := func(callerCount, ops int, op func(n uint64) error) (wall, cpu float64) {
		start, before := time.Now(), measure.CPUTime()
		errs := make(chan error, callerCount)
		for c := range callerCount {
			go func() {
				var err error
				for j := c; j < ops && err == nil; j += callerCount {
					err = op(base + uint64(j))
				}
				errs <- err
			}()
		}
		for range callerCount {
			err = cmp.Or(err, <-errs)
		}
		base += uint64(ops)
		each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(ops) }
		return each(time.Since(start)), each(measure.CPUTime() - before)
	}
	into := func(n uint64) error { return insert(ctx, r, key, n) }
	t[byOne], t[cpuOne] = perOp(1, growthOne, into)
	t[byRaw], t[cpuRaw] = perOp(1, growthOne, raw.put)
	t[byMany], t[cpuMany] = perOp(growthCallers, growthMany, into)
	return t, err
}

// durableChild runs the children of the benches of durable data; false when it is none of them.
func durableChild(what string) (bool, error) {
	rest, ok := strings.CutPrefix(what, "grown ")
	if !ok {
		return false, nil
	}
	number, dir, _ := strings.Cut(rest, " ")
	size, err := strconv.Atoi(number)
	if err != nil {
		return true, err
	}
	return true, runGrown(size, dir)
}
