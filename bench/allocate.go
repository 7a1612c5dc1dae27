package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/sharding"
)

// allocateTarget is within what time 100,000 shards should have a home.
const allocateTarget = 5 * time.Second

// runAllocate has one coordinator find homes for 100,000 shards on three nodes, because a message
// comes for an entity of each. The clock stops when all are hosted and all messages are handled.
func runAllocate(ctx context.Context, o options) error {
	shards := o.size(100_000)
	nodes, stop, err := startNodes(ctx, 3, nil)
	if err != nil {
		return err
	}
	defer stop()
	var got counter
	regions := make([]*sharding.Region[Message], len(nodes))
	for i, n := range nodes {
		if regions[i], err = sharding.Start(n, got.entityType(shards)); err != nil {
			return err
		}
	}
	ids := idsOfAll(shards)
	began, cpu := time.Now(), measure.CPUTime()
	var tellers sync.WaitGroup
	errs := make([]error, len(regions))
	for i, g := range regions {
		tellers.Go(func() {
			for s := i; s < len(ids) && errs[i] == nil; s += len(regions) {
				errs[i] = g.Tell(ctx, ids[s], note())
			}
		})
	}
	tellers.Wait()
	told := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	select {
	case <-got.reached(shards):
	case <-ctx.Done():
		return fmt.Errorf("%d of %d messages were handled: %w", got.count(), shards, context.Cause(ctx))
	}
	took, cpu := time.Since(began), measure.CPUTime()-cpu
	least, most := shards, 0
	for _, g := range regions {
		n := g.Stats().Shards
		least, most = min(least, n), max(most, n)
	}
	var f measure.Figures
	f.Add("shards", shards)
	f.Add("seconds", took.Seconds())
	f.Add("target_seconds", allocateTarget.Seconds())
	f.Add("cpu_seconds", cpu.Seconds()) // of all three nodes
	f.Add("shards_per_s", int(float64(shards)/took.Seconds()))
	f.Add("told_after_seconds", told.Seconds())
	f.Add("least_per_node", least)
	f.Add("most_per_node", most)
	measure.Report("allocate", "3-nodes", f)
	return nil
}

// idsOfAll is an entity id of every shard.
func idsOfAll(shards int) []string {
	ids := make([]string, shards)
	for i, left := 0, shards; left > 0; i++ {
		id := strconv.Itoa(i)
		if s := sharding.ShardOf(id, shards); ids[s] == "" {
			ids[s] = id
			left--
		}
	}
	return ids
}

// counter counts the messages that entities have handled.
type counter struct {
	mu   sync.Mutex
	n    int
	want int
	done chan struct{}
}

func (c *counter) entityType(shards int) sharding.EntityType[Message] {
	return sharding.EntityType[Message]{
		Identity:  sharding.Identity{Name: "Allocated", Role: role, Shards: shards},
		Rebalance: sharding.Rebalance{Interval: -1},
		Messages:  sharding.CBOR[Message](Note{}),
		New:       func(*sharding.Context[Message]) sharding.Entity[Message] { return c },
	}
}

// Receive implements sharding.Entity.
func (c *counter) Receive(*sharding.Context[Message], Message) error {
	c.add()
	return nil
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.maybeDoneLocked()
}

// reached is closed when so many have been counted.
func (c *counter) reached(n int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := make(chan struct{})
	c.want, c.done = n, done
	c.maybeDoneLocked()
	return done
}

func (c *counter) maybeDoneLocked() {
	if c.done != nil && c.n >= c.want {
		close(c.done)
		c.done = nil
	}
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
