package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/bench/results"
	"github.com/coterie-go/coterie/proptest/ports"
)

// hosts is how many processes host entities where one of them is killed or stopped.
const hosts = 3

// once runs the peer's program until it has said all figures of a case.
func (p *peer) once(ctx context.Context, f *results.File, words ...any) error {
	c, err := p.start(ctx, words...)
	if err != nil {
		return err
	}
	defer c.end()
	return c.expect(ctx, "done", f)
}

// processes are those of a peer that host entities, and one that hosts none.
type processes struct {
	addrs  []string // of the hosts
	hosts  []*child
	caller *child // nil: none
}

// form starts n hosts, and a caller if that is wanted, and waits until all see all.
func (p *peer) form(ctx context.Context, n int, withCaller bool) (c *processes, err error) {
	addrs, err := ports.Free(n + 1)
	if err != nil {
		return nil, err
	}
	c = &processes{addrs: addrs[:n]}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	members := n
	if withCaller {
		members++
	}
	seeds := strings.Join(c.addrs, " ")
	for _, addr := range c.addrs {
		h, err := p.start(ctx, "node", "host", addr, members, seeds)
		if err != nil {
			return c, err
		}
		c.hosts = append(c.hosts, h)
	}
	all := c.hosts
	if withCaller {
		if c.caller, err = p.start(ctx, "node", "caller", addrs[n], members, seeds); err != nil {
			return c, err
		}
		all = append(all[:n:n], c.caller)
	}
	for _, x := range all {
		if err := x.expect(ctx, "up", nil); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *processes) end() {
	all := c.hosts
	if c.caller != nil {
		all = append(all, c.caller)
	}
	for _, x := range all { // all at once: they would wait for each other
		_ = x.in.Close()
	}
	for _, x := range all {
		x.end()
	}
}

// runMessages has one process ask and tell entities of another one.
func runMessages(ctx context.Context, p *peer, o options, f *results.File) error {
	c, err := p.form(ctx, 1, true)
	if err != nil {
		return err
	}
	defer c.end()
	d, warm := o.d.Milliseconds(), o.warm.Milliseconds()
	if err := c.caller.ask(ctx, f, "told", "tell", d, warm); err != nil {
		return err
	}
	for _, callers := range []int{1, 64} {
		if err := c.caller.ask(ctx, f, "asked", "ask", callers, d, warm); err != nil {
			return err
		}
	}
	return nil
}

// runRemember starts remembered entities in new directories, and all of them again.
func runRemember(ctx context.Context, p *peer, o options, f *results.File) error {
	for _, shards := range rememberShards(o) {
		if err := p.remember(ctx, shards, o, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) remember(ctx context.Context, shards int, o options, f *results.File) error {
	dir, err := os.MkdirTemp("", "peers-remember")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	addrs, err := ports.Free(hosts)
	if err != nil {
		return err
	}
	return p.once(ctx, f, "remember", o.n, shards, filepath.Join(dir, "data"), strings.Join(addrs, " "))
}

// runFailover kills a host that is not the first one, and so does not coordinate.
func runFailover(ctx context.Context, p *peer, o options, f *results.File) error {
	c, err := p.form(ctx, hosts, true)
	if err != nil {
		return err
	}
	defer c.end()
	victim, addr := c.hosts[hosts-1], c.addrs[hosts-1]
	if err := c.caller.ask(ctx, nil, "loaded", "load", o.warm.Milliseconds(), addr); err != nil {
		return err
	}
	killed := time.Now()
	if err := victim.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return c.caller.ask(ctx, f, "back", "killed", killed.UnixMilli())
}

// marks is how often the others ask all entities while a process stands still.
const marks = 200 * time.Millisecond

// runPause stops a host while its entities have messages, continues it, and has it say what they did then.
func runPause(ctx context.Context, p *peer, o options, f *results.File) error {
	c, err := p.form(ctx, hosts, false)
	if err != nil {
		return err
	}
	defer c.end()
	for _, h := range c.hosts {
		if err := h.ask(ctx, nil, "marked", "mark"); err != nil {
			return err
		}
	}
	victim, others := c.hosts[hosts-1], c.hosts[:hosts-1]
	if err := victim.ask(ctx, nil, "frozen", "freeze", o.watched.Milliseconds()); err != nil {
		return err
	}
	if err := victim.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	stopped, answered := time.Now(), time.Duration(0)
	for round := time.NewTicker(marks); time.Since(stopped) < o.standing || answered == 0; <-round.C {
		for _, h := range others {
			if err := h.ask(ctx, nil, "marked", "mark"); err != nil {
				return err
			}
		}
		if answered == 0 {
			answered = time.Since(stopped)
		}
	}
	if err := victim.signal(syscall.SIGCONT); err != nil {
		return err
	}
	said := results.File{}
	if err := victim.expect(ctx, "thawed", &said); err != nil {
		return err
	}
	line, ok := results.Parse(fmt.Sprintf("bench=peer case=pause all_answer_again_ms=%d", answered.Milliseconds()))
	if !ok {
		return fmt.Errorf("no line of %v", answered)
	}
	for _, x := range said.Cases {
		for _, v := range x.Figures {
			line.Figures = append(line.Figures, results.Value{Name: v.Name, Value: v.Median()})
		}
	}
	f.Add(line)
	return nil
}
