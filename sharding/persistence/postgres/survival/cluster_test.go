package survival

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

const (
	nodes = 3
	// patience is how long anything may take: far more than it does where the processor is free.
	patience = 2 * time.Minute
	schemaOf = "survival"
)

// cluster is some processes with nodes, and a server.
type cluster struct {
	t      testing.TB
	server *postgrestest.Server
	addrs  []string
	dsns   []string // of each node
	looks  atomic.Uint64
	began  time.Time

	mu        sync.Mutex
	processes []*nodetest.Process
	silent    int // the node that is paused; -1 for none
}

// startCluster starts a server with the log of what is stored, and the nodes. dsn makes the connection
// string of a node; nil for that of the server.
func startCluster(t testing.TB, dsn func(i int, server *postgrestest.Server) string) *cluster {
	t.Helper()
	c := &cluster{
		t: t, server: postgrestest.Start(t), processes: make([]*nodetest.Process, nodes), silent: -1, began: time.Now(),
	}
	c.watchStore()
	var err error
	if c.addrs, err = ports.Free(nodes); err != nil {
		t.Fatal(err)
	}
	var starts sync.WaitGroup
	for i := range nodes {
		at := c.server.DSN()
		if dsn != nil {
			at = dsn(i, c.server)
		}
		c.dsns = append(c.dsns, at)
		p := nodetest.Start(t, "node")
		c.processes[i] = p
		starts.Go(func() {
			if err := c.setup(p, i, at); err != nil {
				t.Errorf("node %d does not start: %v", i, err)
			}
		})
	}
	starts.Wait()
	if t.Failed() {
		t.FailNow()
	}
	c.settle()
	return c
}

func (c *cluster) setup(p *nodetest.Process, i int, dsn string) error {
	return p.Setup(c.patient(), settings{Addr: c.addrs[i], Seeds: c.addrs, DSN: dsn, Schema: schemaOf})
}

// patient is a context for calls that must end.
func (c *cluster) patient() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// say tells what happens, and when.
func (c *cluster) say(format string, args ...any) {
	c.t.Helper()
	c.t.Logf("%5.1f s: %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

func (c *cluster) process(i int) *nodetest.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[i]
}

// ask asks by a node, or by the next one if that is paused.
func (c *cluster) ask(ctx context.Context, i int, q question) (r judge.Receipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Within+time.Second)
	defer cancel()
	err = c.awake(i).Call(ctx, "ask", q, &r)
	return r, err
}

// awake is the process of a node, or of the next one if that is paused.
func (c *cluster) awake(i int) *nodetest.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i %= nodes; i == c.silent {
		i = (i + 1) % nodes
	}
	return c.processes[i]
}

// silence pauses a node until speak.
func (c *cluster) silence(i int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = i
	if err := c.processes[i].Pause(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) speak() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.processes[c.silent].Resume(); err != nil {
		c.t.Fatal(err)
	}
	c.silent = -1
}

// settle starts processes again that have ended, and returns when all nodes see each other. A node may
// end by itself: the others have removed it, because it did not answer.
func (c *cluster) settle() {
	c.t.Helper()
	ctx := c.patient()
	for settled := 0; settled < nodes; {
		if ctx.Err() != nil {
			c.t.Fatal("the cluster does not settle")
		}
		settled = 0
		for i := range nodes {
			s, err := c.status(ctx, i)
			if errors.Is(err, nodetest.ErrEnded) {
				p := nodetest.Start(c.t, "node")
				err := c.setup(p, i, c.dsns[i])
				c.say("node %d has started again: %v", i, err)
				c.mu.Lock()
				c.processes[i] = p
				c.mu.Unlock()
			} else if err == nil && s.Members == nodes {
				settled++
			}
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// pause waits a little before something is asked again.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (c *cluster) status(ctx context.Context, i int) (s status, err error) {
	err = c.process(i).Call(ctx, "status", nil, &s)
	return s, err
}

// coordinator is the node with the coordinator of the counters.
func (c *cluster) coordinator() int {
	c.t.Helper()
	for ctx := c.patient(); ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		for i := range nodes {
			if s, err := c.status(ctx, i); err == nil && s.Coordinates {
				return i
			}
		}
	}
	c.t.Fatal("no node has the coordinator")
	return 0
}

// owner is the node that hosts an entity.
func (c *cluster) owner(typ, id string) int {
	c.t.Helper()
	ctx := c.patient()
	for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		var host uint64
		if err := c.process(rand.IntN(nodes)).Call(ctx, "host", question{Type: typ, ID: id}, &host); err != nil {
			continue // it may have ended
		}
		for i := range nodes {
			if s, err := c.status(ctx, i); err == nil && s.UID == host {
				return i
			}
		}
	}
	c.t.Fatal("no node hosts", typ, id)
	return 0
}

// entity names an entity.
func entity(typ string, i int) judge.Entity {
	return judge.Entity{Type: typ, ID: fmt.Sprint(typ, "-", i)}
}

// lookAt asks some entities, until each has answered, by nodes in turn.
func (c *cluster) lookAt(all []judge.Entity) map[judge.Entity]judge.Receipt {
	c.t.Helper()
	ctx := c.patient()
	var mu sync.Mutex
	found := map[judge.Entity]judge.Receipt{}
	next := make(chan judge.Entity)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for e := range next {
				if r, err := c.lookUntil(ctx, e); err != nil {
					c.t.Errorf("%v does not answer: %v", e, err)
				} else {
					mu.Lock()
					found[e] = r
					mu.Unlock()
				}
			}
		})
	}
	for _, e := range all {
		next <- e
	}
	close(next)
	wg.Wait()
	return found
}

func (c *cluster) lookUntil(ctx context.Context, e judge.Entity) (r judge.Receipt, err error) {
	for try := 0; ctx.Err() == nil; try++ {
		q := question{Type: e.Type, ID: e.ID, Number: c.looks.Add(1), Within: 10 * time.Second}
		if r, err = c.ask(ctx, try, q); err == nil {
			return r, nil
		}
		pause(ctx, 20*time.Millisecond)
	}
	return r, err
}
