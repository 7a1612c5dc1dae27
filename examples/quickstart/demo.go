package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/ports"
)

// demo is the play: it starts, kills and asks the nodes, and counts.
type demo struct {
	ctx   context.Context // ends all nodes
	dir   string
	addrs []string
	nodes []*child // nil where none runs

	doubled          int64             // by the nodes that have ended; at last by all
	acked, attempted map[string]uint64 // of all nodes, by entity

	failover, rebalance, restart time.Duration
	restarted, lost              int

	plot  string        // a file for the plot; "": none
	pause time.Duration // between two acts, so that the plot shows what follows each
	marks []moment      // what happened, for the plot
}

const nodesMax = founders + 1

func newDemo(ctx context.Context) (*demo, error) {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return nil, err
	}
	d := &demo{
		ctx: ctx, dir: dir, nodes: make([]*child, nodesMax), acked: map[string]uint64{}, attempted: map[string]uint64{},
	}
	if d.addrs, err = ports.Free(nodesMax); err != nil {
		return nil, err
	}
	return d, os.Mkdir(filepath.Join(dir, "locks"), 0o700)
}

// clean ends what still runs and removes the directories.
func (d *demo) clean() {
	for _, c := range d.nodes {
		if c != nil {
			c.kill()
		}
	}
	_ = os.RemoveAll(d.dir)
}

func (d *demo) run() error {
	for _, act := range []func() error{d.found, d.join, d.killCoordinator, d.stopAll, d.startAll, d.audit} {
		if err := act(); err != nil {
			return err
		}
		<-time.After(d.pause)
	}
	fmt.Printf("demo: entities=%d restarted=%d lost=%d doubled=%d failover_ms=%d rebalance_ms=%d restart_ms=%d\n",
		entities, d.restarted, d.lost, d.doubled, d.failover.Milliseconds(), d.rebalance.Milliseconds(),
		d.restart.Milliseconds())
	if d.plot != "" {
		if err := d.draw(); err != nil {
			return err
		}
	}
	if d.restarted != entities || d.lost != 0 || d.doubled != 0 {
		return errors.New("not as it should be")
	}
	return nil
}

func say(format string, args ...any) { fmt.Printf("  "+format+"\n", args...) }

// start spawns node i; it is ready when it has answered once.
func (d *demo) start(i int) error {
	c, err := spawn(d.ctx, fmt.Sprintf("node %d", i+1),
		envAddr+"="+d.addrs[i], envSeeds+"="+strings.Join(d.addrs, ","),
		envDir+"="+filepath.Join(d.dir, fmt.Sprintf("node-%d", i+1)), envLocks+"="+filepath.Join(d.dir, "locks"),
		envSamples+"="+d.samplesOf(i))
	d.nodes[i] = c
	return err
}

// startSeveral spawns nodes and waits until each is Up.
func (d *demo) startSeveral(from, to int) error {
	for i := from; i < to; i++ {
		if err := d.start(i); err != nil {
			return err
		}
	}
	for i := from; i < to; i++ {
		if _, err := d.nodes[i].ask("running"); err != nil {
			return err
		}
	}
	return nil
}

// each calls fn with every running node.
func (d *demo) each(fn func(i int, c *child) error) error {
	for i, c := range d.nodes {
		if c == nil {
			continue
		}
		if err := fn(i, c); err != nil {
			return err
		}
	}
	return nil
}

// all asks every running node for the same and wants no more than an answer.
func (d *demo) all(do string) error {
	return d.each(func(_ int, c *child) error {
		_, err := c.ask(do)
		return err
	})
}

// found starts the first three nodes and all entities.
func (d *demo) found() error {
	d.note("three nodes start", "three nodes on loopback, %d counters in %d shards", entities, shards)
	if err := d.startSeveral(0, founders); err != nil {
		return err
	}
	say("the cluster is founded")
	if err := d.all("probe"); err != nil {
		return err
	}
	say("every counter has answered every node")
	if err := d.all("traffic"); err != nil {
		return err
	}
	say("all nodes increment")
	if err := d.all("more"); err != nil {
		return err
	}
	return d.table()
}

// join starts a fourth node under traffic and waits until it has its share of the shards.
func (d *demo) join() error {
	d.note("a fourth node joins", "a fourth node joins, the increments go on")
	begun := time.Now()
	if err := d.startSeveral(founders, nodesMax); err != nil {
		return err
	}
	say("up after %d ms", time.Since(begun).Milliseconds())
	joined := time.Now()
	err := d.poll("the shards are even", func() (bool, error) {
		counts, err := d.shardCounts()
		return err == nil && even(counts), err
	})
	if err != nil {
		return err
	}
	d.rebalance = time.Since(joined)
	if _, err := d.nodes[founders].ask("traffic"); err != nil {
		return err
	}
	if err := d.all("more"); err != nil {
		return err
	}
	return d.table()
}

// killCoordinator is a kill -9 of the node that has the coordinator, under traffic.
func (d *demo) killCoordinator() error {
	coordinator, err := d.coordinator()
	if err != nil {
		return err
	}
	// Its account of the traffic dies with it, so its callers rest first; its entities go on to
	// serve the others.
	if err := d.account(d.nodes[coordinator]); err != nil {
		return err
	}
	name := d.nodes[coordinator].name
	d.note("kill -9 of "+name, "kill -9 of %s, which has the coordinator", name)
	killed := time.Now()
	d.nodes[coordinator].kill()
	d.ended(coordinator)
	asker := d.nodes[(coordinator+1)%nodesMax]
	if _, err := asker.ask("probe"); err != nil {
		return err
	}
	d.failover = time.Since(killed)
	say("all %d counters answer again after %d ms", entities, d.failover.Milliseconds())
	if err := d.all("more"); err != nil {
		return err
	}
	return d.table()
}

// stopAll ends the traffic and every process.
func (d *demo) stopAll() error {
	if err := d.each(func(_ int, c *child) error { return d.account(c) }); err != nil {
		return err
	}
	sum := uint64(0)
	for _, n := range d.acked {
		sum += n
	}
	say("%d increments were acknowledged so far", sum)
	d.note("all processes stop", "all processes stop")
	return d.each(func(i int, c *child) error {
		if err := d.watch(c); err != nil {
			return err
		}
		if _, err := c.ask("stop"); err != nil {
			return err
		}
		c.reap()
		d.ended(i)
		return nil
	})
}

// startAll starts all four again and waits until the remembered entities run, without a message to
// any of them.
func (d *demo) startAll() error {
	d.note("all start again", "all start again; no message is sent")
	begun := time.Now()
	if err := d.startSeveral(0, nodesMax); err != nil {
		return err
	}
	say("up after %d ms", time.Since(begun).Milliseconds())
	err := d.poll("all remembered counters run", func() (bool, error) {
		running, err := d.running()
		d.restarted = len(running)
		return d.restarted == entities, err
	})
	if err != nil {
		return err
	}
	d.restart = time.Since(begun)
	say("%d remembered counters run after %d ms", d.restarted, d.restart.Milliseconds())
	return d.table()
}

// audit compares every count with the account of the traffic.
func (d *demo) audit() error {
	a, err := d.nodes[0].ask("probe")
	if err != nil {
		return err
	}
	for i := range entities {
		id := entityID(i)
		if total := a.Totals[id]; total < d.acked[id] || total > d.attempted[id] {
			say("%s counts %d; %d increments were acknowledged of %d sent", id, total, d.acked[id], d.attempted[id])
			d.lost++
		}
	}
	say("no acknowledged increment is missing in %d of %d counters", entities-d.lost, entities)
	return d.each(func(_ int, c *child) error {
		err := d.watch(c)
		d.doubled += c.doubled
		return err
	})
}
