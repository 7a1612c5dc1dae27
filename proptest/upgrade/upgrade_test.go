package upgrade

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/proptest/ports"
)

const (
	nodes = 3
	limit = 10 * time.Minute // of the whole test
)

// cluster is the nodes, by number.
type cluster struct {
	addrs []string
	dir   string

	mu   sync.Mutex
	open []*nodetest.Process // to clients; nil: not now
	next int                 // whom the next call asks
}

// process starts a node of a build, and returns when it is a member.
func (c *cluster) process(t *testing.T, i int, binary string, most format.Level) (*nodetest.Process, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := nodetest.StartAs(t, binary, program)
	return p, p.Setup(ctx, Settings{
		Addr: c.addrs[i], Seeds: c.addrs, Dir: filepath.Join(c.dir, fmt.Sprint("node", i)), FormatMax: most,
	})
}

// set opens a node to clients, or closes it.
func (c *cluster) set(i int, p *nodetest.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[i] = p
}

// pick is one of the nodes that are open, in turn.
func (c *cluster) pick() *nodetest.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.next++; c.open[c.next%nodes] != nil { // at least two are
			return c.open[c.next%nodes]
		}
	}
}

// call has one of the open nodes answer.
func (c *cluster) call(ctx context.Context, name string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*callLimit)
	defer cancel()
	return c.pick().Call(ctx, name, in, out)
}

// level is the format level of all views.
func (c *cluster) level(t *testing.T) format.Level {
	t.Helper()
	var all [nodes]format.Level
	for i, p := range c.open {
		if p == nil {
			continue
		}
		if err := p.Call(t.Context(), callLevel, nil, &all[i]); err != nil {
			t.Fatal(err)
		}
	}
	return max(all[0], all[1], all[2])
}

// replace takes a node away, and starts one of a build in its place. Clients leave it alone from before it
// leaves until it is back. A node that is killed takes what it was asked with it.
func (c *cluster) replace(t *testing.T, i int, binary string, most format.Level, kill bool) {
	t.Helper()
	old := c.open[i]
	if !kill {
		c.set(i, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := old.Call(ctx, callLeave, nil, nil); err != nil {
			t.Fatal("leave: ", err)
		}
	}
	old.Kill()
	c.set(i, nil)
	p, err := c.process(t, i, binary, most)
	if err != nil {
		t.Fatal("start: ", err)
	}
	c.set(i, p)
}

// TestTwoBuilds: a cluster of the base is rolled to this build with the level held, back to the base, and to
// this build again, while clients operate. In each roll-out one node is killed. The level rises with the
// last node, and then the base is refused.
func TestTwoBuilds(t *testing.T) {
	b := makeBuilds(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	addrs, err := ports.Free(nodes + 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{addrs: addrs[:nodes], dir: t.TempDir(), open: make([]*nodetest.Process, nodes)}
	began := make(chan error, nodes)
	for i := range nodes {
		go func() {
			p, err := c.process(t, i, b.base, 0)
			c.set(i, p)
			began <- err
		}()
	}
	for range nodes {
		err = errors.Join(err, <-began)
	}
	if err != nil {
		t.Fatal(err)
	}
	old := c.level(t)
	l := startLoad(t, c)
	for _, r := range []struct {
		to     string
		binary string
		most   format.Level
	}{
		{"this build, held", b.next, old}, {"the base", b.base, 0}, {"this build", b.next, 0},
	} {
		for i := range nodes {
			if got := c.level(t); got != old {
				t.Errorf("level %d before node %d is of %s", got, i, r.to)
			}
			from, was, _ := l.so()
			at := time.Now()
			c.replace(t, i, r.binary, r.most, i == 1)
			await(ctx, t, "clients go on", func() bool { now, _, _ := l.so(); return now > from+200 })
			_, repeats, longest := l.so()
			t.Logf("node %d is of %s after %v (killed: %t); %d calls made again; the longest operation so far took %v",
				i, r.to, time.Since(at).Round(time.Millisecond), i == 1, repeats-was, longest.Round(time.Millisecond))
		}
	}
	await(ctx, t, "the level has risen", func() bool { return c.level(t) == format.Newest+1 })
	l.stop(t)
	late := &cluster{addrs: append(c.addrs, addrs[nodes]), dir: c.dir}
	_, err = late.process(t, nodes, b.base, 0)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("format level %d", format.Newest+1)) {
		t.Errorf("a node of the base in a cluster of this build: %v", err)
	}
}

// await looks again and again until something is so.
func await(ctx context.Context, t *testing.T, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it is not so: ", what)
		}
	}
}
