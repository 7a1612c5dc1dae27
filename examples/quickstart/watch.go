package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/sharding"
)

// account ends a node's traffic and adds up what it did.
func (d *demo) account(c *child) error {
	a, err := c.ask("rest")
	if err != nil {
		return err
	}
	for id, n := range a.Acked {
		d.acked[id] += n
	}
	for id, n := range a.Attempted {
		d.attempted[id] += n
	}
	return d.watch(c)
}

// watch asks a node what it has seen of entities that ran twice.
func (d *demo) watch(c *child) error {
	a, err := c.ask("running")
	c.doubled = a.Doubled
	return err
}

// ended takes a node out of the play and keeps what it has seen.
func (d *demo) ended(i int) {
	d.doubled += d.nodes[i].doubled
	d.nodes[i] = nil
}

// coordinator finds the node that has the coordinator.
func (d *demo) coordinator() (int, error) {
	found := -1
	err := d.each(func(i int, c *child) error {
		a, err := c.ask("running")
		if a.Coordinates {
			found = i
		}
		return err
	})
	if err == nil && found < 0 {
		err = errors.New("no node has the coordinator")
	}
	return found, err
}

// running is where each entity runs.
func (d *demo) running() (map[string]int, error) {
	at := map[string]int{}
	err := d.each(func(i int, c *child) error {
		a, err := c.ask("running")
		for _, id := range a.Running {
			at[id] = i
		}
		return err
	})
	return at, err
}

// shardCounts is the number of shards with running entities per node.
func (d *demo) shardCounts() ([]int, error) {
	at, err := d.running()
	type hosted struct {
		node  int
		shard sharding.ShardID
	}
	seen := map[hosted]bool{}
	counts := make([]int, nodesMax)
	for id, i := range at {
		k := hosted{i, sharding.ShardOf(id, shards)}
		if !seen[k] {
			seen[k] = true
			counts[i]++
		}
	}
	return counts, err
}

// even reports whether no two nodes differ by more than one shard and all shards are there.
func even(counts []int) bool {
	least, most, sum := counts[0], counts[0], 0
	for _, n := range counts {
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	return sum == shards && most-least <= 1
}

// table prints the shards per node.
func (d *demo) table() error {
	counts, err := d.shardCounts()
	if err != nil {
		return err
	}
	for i, n := range counts {
		mark := ""
		if d.nodes[i] == nil {
			mark = " (down)"
		}
		say("node %d  %2d shards  %s%s", i+1, n, strings.Repeat("#", n), mark)
	}
	return nil
}

// poll repeats a look until it is true.
func (d *demo) poll(what string, look func() (bool, error)) error {
	const every = 20 * time.Millisecond
	for end := time.Now().Add(answerLimit); time.Now().Before(end); <-time.After(every) {
		ok, err := look()
		if err != nil {
			return err
		}
		if ok {
			say("%s", what)
			return nil
		}
	}
	return fmt.Errorf("not within %v: %s", answerLimit, what)
}
