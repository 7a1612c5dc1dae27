package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/hosts"
	"github.com/coterie-go/coterie/proptest/ports"
)

// witnessPlay is a cluster of witness processes, on loopback or each on a host of its own.
type witnessPlay struct {
	t        *testing.T
	ctx      context.Context // ends all processes
	dir      string
	evidence string
	preset   ddata.Preset
	addrs    []string
	founders int            // so many of them are the seeds, and found the cluster
	network  *hosts.Network // nil on loopback
	hosts    []*hosts.Host
	nodes    []*child
}

// startWitnesses starts nodes in processes of their own on loopback, and all entities. They die
// with the test however it ends.
func startWitnesses(ctx context.Context, t *testing.T, n int) *witnessPlay {
	t.Helper()
	return startPatient(ctx, t, n, ddata.Local)
}

// startPatient is startWitnesses with other time-outs: those of ddata.LAN take no process for dead
// that a busy machine has kept waiting.
func startPatient(ctx context.Context, t *testing.T, n int, preset ddata.Preset) *witnessPlay {
	t.Helper()
	p := newWitnesses(ctx, t)
	p.preset = preset
	var err error
	if p.addrs, err = ports.Free(n); err != nil {
		t.Fatal(err)
	}
	p.startAll()
	return p
}

// startOnHosts is startWitnesses with a network that can be cut.
func startOnHosts(ctx context.Context, t *testing.T, n int) *witnessPlay {
	t.Helper()
	p := newWitnesses(ctx, t)
	p.network = hosts.New(1)
	for range n {
		h := p.network.Host()
		p.hosts = append(p.hosts, h)
		p.addrs = append(p.addrs, h.Addr().String()+":7946")
	}
	p.startAll()
	t.Cleanup(func() { t.Log(p.network.Stats()) })
	return p
}

func newWitnesses(ctx context.Context, t *testing.T) *witnessPlay {
	runtime.LockOSThread() // the signal at a parent's death is at that of the thread
	t.Cleanup(runtime.UnlockOSThread)
	dir := t.TempDir()
	return &witnessPlay{t: t, ctx: ctx, preset: ddata.Local, dir: dir, evidence: filepath.Join(dir, "evidence")}
}

func (p *witnessPlay) startAll() {
	p.t.Helper()
	p.nodes, p.founders = make([]*child, len(p.addrs)), len(p.addrs)
	for i := range p.nodes {
		p.start(i)
	}
	p.all("running", p.nodes...)
	ask(p.t, p.nodes[0], "mark")
}

// start starts a node's process, at its address and with its directory of before. It answers when
// it is a member.
func (p *witnessPlay) start(i int) {
	p.t.Helper()
	cmd := exec.CommandContext(p.ctx, os.Args[0])
	words := append([]string{p.preset.String(), p.evidence, filepath.Join(p.dir, fmt.Sprint(i)), p.addrs[i]},
		p.addrs[:p.founders]...)
	cmd.Env = append(os.Environ(), envWitness+"="+strings.Join(words, " "))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	start, end := cmd.Start, cmd.Wait
	if p.network != nil {
		start, end = func() error { return p.hosts[i].Start(cmd) }, p.hosts[i].Wait
	}
	c, err := launch(fmt.Sprintf("node %d", i+1), cmd, start, end)
	if errors.Is(err, hosts.ErrUnavailable) {
		p.t.Skip(err) // skip: not every machine lets us make namespaces and TUN devices
	} else if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(c.kill)
	p.nodes[i] = c
}

// join starts one more node.
func (p *witnessPlay) join() *child {
	p.t.Helper()
	addrs, err := ports.Free(1)
	if err != nil {
		p.t.Fatal(err)
	}
	p.addrs, p.nodes = append(p.addrs, addrs...), append(p.nodes, nil)
	p.start(len(p.nodes) - 1)
	return p.nodes[len(p.nodes)-1]
}

// coordinator finds the node that has the coordinator, which runs entities too, and the others.
func (p *witnessPlay) coordinator() (coordinator *child, others []*child) {
	p.t.Helper()
	i := slices.IndexFunc(p.nodes, func(c *child) bool {
		a := ask(p.t, c, "running")
		return a.Coordinates && len(a.Running) > 0
	})
	if i < 0 {
		p.t.Fatal("no node has the coordinator and runs entities")
	}
	return p.nodes[i], slices.Delete(slices.Clone(p.nodes), i, i+1)
}

// all asks several nodes for the same, one after the other.
func (p *witnessPlay) all(do string, nodes ...*child) {
	p.t.Helper()
	for _, c := range nodes {
		ask(p.t, c, do)
	}
}

// runAt fails the test unless all these entities run at these nodes, one here, one there.
func (p *witnessPlay) runAt(ids []string, nodes []*child) {
	p.t.Helper()
	running := map[string]bool{}
	for _, c := range nodes {
		for _, id := range ask(p.t, c, "running").Running {
			running[id] = true
		}
	}
	for _, id := range ids {
		if !running[id] {
			p.t.Errorf("%s does not run there", id)
		}
	}
}

// judge stops the nodes that still run, and looks at the evidence.
func (p *witnessPlay) judge() []line {
	p.t.Helper()
	for _, c := range p.nodes {
		if c.cmd.ProcessState == nil {
			ask(p.t, c, "stop")
			c.reap()
		}
	}
	lines, err := readEvidence(p.evidence)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := errors.Join(judge(lines), judgeNumbers(lines)); err != nil {
		p.t.Error(err)
	}
	return lines
}

func ask(t *testing.T, c *child, do string) answer {
	t.Helper()
	a, err := c.ask(do)
	if err != nil {
		t.Fatalf("%s: %v", do, err)
	}
	return a
}
