package diskless

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

const (
	nodes = 3
	// patience is how long anything may take: far more than it does where the processor is free.
	patience = 2 * time.Minute
)

// cluster is the processes of one founding.
type cluster struct {
	t      *testing.T
	ctx    context.Context
	server *postgrestest.Server
	seeds  []string
	all    []*nodetest.Process
}

// found starts the nodes of a cluster, at ports that none had before.
func found(ctx context.Context, t *testing.T, server *postgrestest.Server) *cluster {
	t.Helper()
	seeds, err := ports.Free(nodes)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, ctx: ctx, server: server, seeds: seeds, all: make([]*nodetest.Process, nodes)}
	for i := range nodes {
		c.all[i] = nodetest.Start(t, "node")
	}
	c.together(func(i int) error { return c.setup(c.all[i], seeds[i]) })
	return c
}

func (c *cluster) setup(p *nodetest.Process, addr string) error {
	return p.Setup(c.ctx, settings{Addr: addr, Seeds: c.seeds, DSN: c.server.DSN()})
}

// together does something with all nodes at one time.
func (c *cluster) together(do func(i int) error) {
	c.t.Helper()
	errs := make([]error, len(c.all))
	var wg sync.WaitGroup
	for i := range c.all {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
}

// until repeats a look until it finds nothing wrong any more.
func (c *cluster) until(what string, look func() error) {
	c.t.Helper()
	for err := look(); err != nil; err = look() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.ctx.Done():
			c.t.Fatalf("%s: %v", what, err)
		}
	}
}

func (c *cluster) status(p *nodetest.Process) (s status, err error) {
	err = p.Call(c.ctx, "status", nil, &s)
	return s, err
}

// coordinator waits for the node with the coordinator, and returns it with another one.
func (c *cluster) coordinator() (it, other int) {
	c.t.Helper()
	c.until("a coordinator", func() error {
		for i, p := range c.all {
			s, err := c.status(p)
			if err != nil {
				return err
			}
			if s.Coordinates && s.Members == len(c.all) {
				it, other = i, (i+1)%len(c.all)
				return nil
			}
		}
		return errors.New("no node of all has the coordinator")
	})
	return it, other
}

// replace starts a node in place of one that is gone, at another port.
func (c *cluster) replace(i int) {
	c.t.Helper()
	addrs, err := ports.Free(1)
	if err != nil {
		c.t.Fatal(err)
	}
	c.all[i] = nodetest.Start(c.t, "node")
	if err := c.setup(c.all[i], addrs[0]); err != nil {
		c.t.Fatal(err)
	}
}

// load starts entities, one after the other.
type load struct {
	mu      sync.Mutex
	started []string // those that were answered
	tried   map[string]bool
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.started)
}

// through starts entities through one node until stop is called.
func (l *load) through(ctx context.Context, p *nodetest.Process) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			l.one(ctx, p)
		}
	})
	return func() { cancel(); wg.Wait() }
}

func (l *load) one(ctx context.Context, p *nodetest.Process) {
	l.mu.Lock()
	id := fmt.Sprint("item-", len(l.tried))
	l.tried[id] = true
	l.mu.Unlock()
	if p.Call(ctx, "start", id, nil) == nil {
		l.mu.Lock()
		l.started = append(l.started, id)
		l.mu.Unlock()
	}
}

// progress waits until some more were answered.
func (l *load) progress(c *cluster, more int) {
	c.t.Helper()
	want := l.count() + more
	c.until("progress", func() error {
		if n := l.count(); n < want {
			return fmt.Errorf("%d entities were started, want %d", n, want)
		}
		return nil
	})
}

// allRun waits until what was started runs, each on one node, which is the home that the journal has.
// Nothing else runs, and each node has a part.
func (c *cluster) allRun(when string, l *load, tr *truth) {
	c.t.Helper()
	c.until(when, func() error {
		running := map[string]uint64{}
		if err := tr.follow(c.ctx); err != nil {
			c.t.Fatalf("%s: %v", when, err)
		}
		for i, p := range c.all {
			s, err := c.status(p)
			if err != nil || s.Ended {
				return fmt.Errorf("node %d: ended %v, %w", i, s.Ended, err)
			}
			if len(s.Running) == 0 {
				return fmt.Errorf("node %d has no part", i)
			}
			for id, shard := range s.Running {
				switch home := tr.homes[shard].UID; {
				case running[id] != 0:
					return fmt.Errorf("%s runs on %x and %x", id, running[id], s.UID)
				case !l.tried[id]:
					c.t.Fatalf("%s: %s runs, which nothing has started", when, id)
				case home != s.UID:
					return fmt.Errorf("%s runs on %x, and the home of shard %d is %x", id, s.UID, shard, home)
				}
				running[id] = s.UID
			}
		}
		for _, id := range l.started {
			if running[id] == 0 {
				return fmt.Errorf("%s does not run, as %d do of %d", id, len(running), len(l.started))
			}
		}
		return nil
	})
}
