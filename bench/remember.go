package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// rememberTarget is within what time a full restart should start 1 M remembered entities.
const rememberTarget = 20 * time.Second

// rememberPatience is how long one part may take.
const rememberPatience = 5 * time.Minute

// rememberAhead is how many entities are told before the first of them are waited for: messages
// that wait for a home or a start are bounded.
const rememberAhead = 30_000

// rememberTellers tell first messages at one time, on each node.
const rememberTellers = 8

// runRemember starts remembered entities on three nodes with a directory each, all in one shard and
// then over 1,000, stops the cluster, and starts it again. The clock of the restart runs from the
// first node's start until every entity runs. No message is sent to any.
func runRemember(ctx context.Context, o options) error {
	entities := o.size(1_000_000)
	for _, shards := range []int{1, min(1000, max(1, entities/10))} {
		if err := remember(ctx, shards, entities); err != nil {
			return err
		}
	}
	return nil
}

func remember(ctx context.Context, shards, entities int) error {
	dir, err := os.MkdirTemp("", "bench-remember")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dirs := make([]string, 3)
	for i := range dirs {
		dirs[i] = filepath.Join(dir, strconv.Itoa(i))
	}
	var f measure.Figures
	f.Add("entities", entities)
	f.Add("shards", shards)
	if err := rememberFirst(ctx, dirs, shards, entities, &f); err != nil {
		return err
	}
	if err := rememberAgain(ctx, dirs, shards, entities, &f); err != nil {
		return err
	}
	measure.Report("remember", fmt.Sprintf("%d-shards", shards), f)
	return nil
}

// rememberFirst starts entities by a message to each. What a start costs should not depend on how
// many there are, so the halves are timed by themselves. Halves, because what is paid at a
// doubling, and is a constant for each start, is paid once in the second half and as much in all
// the doublings of the first: maps double, and so does the heap from one collection to the next. In
// a smaller part it falls by chance: at a million in one shard the map of entities doubles at
// 917,504, and the last tenth holds that and a collection of the full heap, or neither.
func rememberFirst(ctx context.Context, dirs []string, shards, entities int, f *measure.Figures) error {
	runtime.GC() // nothing is inherited from the case before, nor does a restart inherit anything
	nodes, stop, err := startNodesWith(ctx, len(dirs), dirs, ddata.LAN)
	if err != nil {
		return err
	}
	defer stop()
	var got started
	regions, err := got.start(nodes, shards)
	if err != nil {
		return err
	}
	half := entities / 2
	var first, second measure.Cost
	before := storedBy(nodes)
	for _, part := range []struct {
		from, to int
		cost     *measure.Cost
	}{{0, half, &first}, {half, entities, &second}} {
		if err := part.cost.Measure(part.to-part.from, func() error {
			return got.tellAll(ctx, regions, part.from, part.to)
		}); err != nil {
			return err
		}
	}
	after := storedBy(nodes)
	whole := measure.Cost{Ops: entities, Wall: first.Wall + second.Wall, CPU: first.CPU + second.CPU}
	perStart := func(n uint64) float64 { return float64(n) / float64(len(nodes)) / float64(entities) }
	f.Add("starts_per_s", int(float64(entities)/whole.Wall.Seconds()))
	f.Add("start_cpu_us", whole.CPUNs()/1e3) // of all three nodes and the tellers
	f.Add("second_half_by_first", second.Ns()/first.Ns())
	f.Add("second_half_by_first_cpu", second.CPUNs()/first.CPUNs())
	f.Add("rows_per_start", perStart(after.rows-before.rows)) // on each node
	f.Add("bytes_per_start", perStart(after.bytes-before.bytes))
	f.Add("starts_per_commit", float64(entities)*float64(len(nodes))/float64(after.commits-before.commits))
	return nil
}

// rememberAgain starts the cluster anew and waits until all entities run.
func rememberAgain(ctx context.Context, dirs []string, shards, entities int, f *measure.Figures) error {
	runtime.GC()
	began, cpu := time.Now(), measure.CPUTime()
	nodes, stop, err := startNodesWith(ctx, len(dirs), dirs, ddata.LAN)
	if err != nil {
		return err
	}
	defer stop()
	formed := time.Since(began)
	var got started
	if _, err := got.start(nodes, shards); err != nil {
		return err
	}
	if err := got.await(ctx, entities); err != nil {
		return err
	}
	f.Add("restart_seconds", time.Since(began).Seconds())
	f.Add("target_seconds", rememberTarget.Seconds())
	f.Add("restart_cpu_seconds", (measure.CPUTime() - cpu).Seconds()) // of all three nodes
	f.Add("formed_after_seconds", formed.Seconds())
	return nil
}

// stored is what the stores of some nodes have written.
type stored struct{ rows, bytes, commits uint64 }

func storedBy(nodes []*ddata.Node) (s stored) {
	for _, n := range nodes {
		x := n.StoreStats()
		s.rows += x.Rows
		s.bytes += x.Bytes
		s.commits += x.Commits
	}
	return s
}

// started counts the entities that were made.
type started struct {
	counter
	regions []*sharding.Region[Message]
}

func (s *started) start(nodes []*ddata.Node, shards int) ([]*sharding.Region[Message], error) {
	regions := make([]*sharding.Region[Message], len(nodes))
	for i, n := range nodes {
		var err error
		if regions[i], err = sharding.Start(n, sharding.EntityType[Message]{
			Identity:  sharding.Identity{Name: "Remembered", Role: role, Shards: shards},
			Remember:  sharding.Remember{Entities: true},
			Rebalance: sharding.Rebalance{Interval: -1},
			Messages:  sharding.CBOR[Message](Note{}),
			New: func(*sharding.Context[Message]) sharding.Entity[Message] {
				s.add()
				return &sink{}
			},
		}); err != nil {
			return nil, err
		}
	}
	s.regions = regions
	return regions, nil
}

// await returns when so many were made in all.
func (s *started) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, rememberPatience)
	defer cancel()
	select {
	case <-s.reached(n):
		return nil
	case <-ctx.Done():
		err := fmt.Errorf("%d of %d entities were started: %w", s.count(), n, context.Cause(ctx))
		for _, g := range s.regions {
			err = fmt.Errorf("%w\n%+v", err, g.Stats())
		}
		return err
	}
}

// tellAll sends a message to each of the entities and waits until all were made.
func (s *started) tellAll(ctx context.Context, regions []*sharding.Region[Message], from, to int) error {
	for ; from < to; from += rememberAhead {
		if err := s.tell(ctx, regions, from, min(to, from+rememberAhead)); err != nil {
			return err
		}
	}
	return nil
}

func (s *started) tell(ctx context.Context, regions []*sharding.Region[Message], from, to int) error {
	var tellers sync.WaitGroup
	errs := make(chan error, len(regions)*rememberTellers)
	for t := range cap(errs) {
		tellers.Go(func() {
			for i := from + t; i < to; i += cap(errs) {
				if err := regions[t%len(regions)].Tell(ctx, fmt.Sprintf("entity-%09d", i), Note{}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	tellers.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	return s.await(ctx, to)
}
