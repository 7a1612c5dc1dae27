package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/sharding"
)

const (
	activateEntities = 400_000
	idleTarget       = 256 // bytes
)

// runActivate tells entities that are not there yet, on one node, and measures until each has
// handled its message; then what an idle one takes, which has no state of its own. Beside it a map
// of goroutines with a channel each, what one would write without a library.
func runActivate(ctx context.Context, o options) error {
	n := o.size(activateEntities)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "entity-" + strconv.Itoa(1_000_000_000+i)
	}
	for _, senders := range []int{1, 16} {
		limit, limitBytes, err := activatePlain(ids, senders)
		if err != nil {
			return err
		}
		l, bytes, goroutines, err := activate(ctx, ids, senders)
		if err != nil {
			return err
		}
		var f measure.Figures
		f.Add("entities", n)
		f.Add("ops_per_s", int(l.PerSecond()))
		f.Add("cpu_us_per_op", l.CPUMicros())
		f.Add("bytes_per_idle_entity", bytes)
		f.Add("target_bytes", idleTarget)
		f.Add("goroutines", goroutines) // that there are more of than before
		f.Add("goroutine_each_ops_per_s", int(limit.PerSecond()))
		f.Add("goroutine_each_bytes", limitBytes)
		f.Add("ratio", l.PerSecond()/limit.PerSecond())
		measure.Report("activate", fmt.Sprintf("tell-%d-senders", senders), f)
	}
	runtime.KeepAlive(ids)
	return activateAsked(ctx, o)
}

// activate tells each entity once. The shards are there before.
func activate(ctx context.Context, ids []string, senders int) (
	l measure.Load, bytes float64, goroutines int, err error,
) {
	region, got, stop, err := startCold(ctx)
	if err != nil {
		return l, 0, 0, err
	}
	defer stop()
	before, running := memoryInUse(), runtime.NumGoroutine()
	done := got.reached(got.count() + len(ids))
	cpu, began := measure.CPUTime(), time.Now()
	err = fromEach(senders, ids, func(id string) error { return region.Tell(ctx, id, note()) })
	if err != nil {
		return l, 0, 0, err
	}
	select {
	case <-done:
	case <-ctx.Done():
		return l, 0, 0, ctx.Err()
	}
	l = measure.Load{Ops: len(ids), Elapsed: time.Since(began), CPU: measure.CPUTime() - cpu}
	bytes = float64(memoryInUse()-before) / float64(len(ids))
	goroutines = runtime.NumGoroutine() - running
	runtime.KeepAlive(region)
	return l, bytes, goroutines, nil
}

// activateAsked is one caller whose every question starts an entity: how long a first answer takes.
func activateAsked(ctx context.Context, o options) error {
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return err
	}
	defer stop()
	region, err := startEntities(nodes[0])
	if err != nil {
		return err
	}
	for i := range 1000 { // the shards are there
		if _, err := sharding.Ask(ctx, region.Ref("first-"+strconv.Itoa(i)), Query{}); err != nil {
			return err
		}
	}
	l, err := measure.Callers(1, o.d, func(_, i int) error {
		_, err := sharding.Ask(ctx, region.Ref("entity-"+strconv.Itoa(i)), Query{})
		return err
	})
	if err != nil {
		return err
	}
	again, err := measure.Callers(1, o.d/2, func(_, i int) error {
		_, err := sharding.Ask(ctx, region.Ref("first-"+strconv.Itoa(i%1000)), Query{})
		return err
	})
	if err != nil {
		return err
	}
	f := l.Figures()
	f.Add("there_already_p50_us", again.Percentile(0.5))
	f.Add("there_already_p99_us", again.Percentile(0.99))
	measure.Report("activate", "ask-1-caller", f)
	return nil
}

// startCold starts a node with a type whose entities have no state, and waits for its shards.
func startCold(ctx context.Context) (region *sharding.Region[Message], got *counter, stop func(), err error) {
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	const shards = 100
	got = new(counter)
	if region, err = sharding.Start(nodes[0], got.entityType(shards)); err != nil {
		return nil, nil, nil, err
	}
	done := got.reached(shards)
	for _, id := range idsOfAll(shards) {
		if err := region.Tell(ctx, id, note()); err != nil {
			return nil, nil, nil, err
		}
	}
	select {
	case <-done:
		return region, got, stop, nil
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	}
}

// activatePlain has a goroutine for each entity.
func activatePlain(ids []string, senders int) (l measure.Load, bytes float64, err error) {
	var (
		mu      sync.Mutex
		all     = map[string]chan Message{}
		handled sync.WaitGroup
	)
	box := func(id string) chan Message {
		mu.Lock()
		defer mu.Unlock()
		c := all[id]
		if c == nil {
			c = make(chan Message, 1)
			all[id] = c
			go func() {
				for range c {
					handled.Done()
				}
			}()
		}
		return c
	}
	defer func() {
		for _, c := range all {
			close(c)
		}
	}()
	before := memoryInUse()
	handled.Add(len(ids))
	cpu, began := measure.CPUTime(), time.Now()
	err = fromEach(senders, ids, func(id string) error {
		box(id) <- note()
		return nil
	})
	handled.Wait()
	l = measure.Load{Ops: len(ids), Elapsed: time.Since(began), CPU: measure.CPUTime() - cpu}
	return l, float64(memoryInUse()-before) / float64(len(ids)), err
}

// fromEach divides the ids among goroutines.
func fromEach(senders int, ids []string, fn func(id string) error) error {
	errs := make([]error, senders)
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := s; i < len(ids) && errs[s] == nil; i += senders {
				errs[s] = fn(ids[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// memoryInUse is what lives after collecting garbage: on the heap, and stacks.
func memoryInUse() int64 {
	heap := measure.HeapBytes()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap + int64(m.StackInuse)
}
