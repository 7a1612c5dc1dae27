package ddata_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/file"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// leaseChildEnv makes this test binary a node in a process of its own that LeaseMajority decides
// for: "DIRECTORY ADDRESS SEEDS…".
const leaseChildEnv = "COTERIE_DDATA_TEST_LEASE_CHILD"

// leaseConfig is config with an arbiter.
func leaseConfig(s locks.Store, addr string, seeds []string, expect int) ddata.Config {
	c := config(addr, seeds, expect)
	c.Downing, c.Leases = downing.LeaseMajority{}, s
	return c
}

// runLeaseNode runs a node until the process is killed. It says when it is up, when it has got the
// arbiter's lease, and whom the cluster has dropped and whether it may run things then.
func runLeaseNode(words []string) error {
	dir, addr, seeds := words[0], words[1], words[2:]
	store, err := file.Open(dir)
	if err != nil {
		return err
	}
	c := leaseConfig(store, addr, seeds, len(seeds))
	var up atomic.Pointer[ddata.Node]
	c.OnEvent = func(e events.Event) {
		switch e := e.(type) {
		case events.ArbiterTaken:
			fmt.Println("arbiter")
		case events.MemberRemoved:
			if n := up.Load(); n != nil {
				fmt.Printf("removed %v, of %d, runs %t\n", e.Member.UID, len(n.Members()), n.HoldsLease())
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	n, err := ddata.Start(ctx, c)
	if err != nil {
		return err
	}
	up.Store(n)
	fmt.Println("up", n.UID())
	<-n.Done()
	return n.Err()
}

// leaseProcess is such a process.
type leaseProcess struct {
	cmd  *exec.Cmd
	addr string
	said chan string // the lines that it has printed; closed when it has ended
}

func startLeaseProcess(t *testing.T, dir, addr string, seeds []string) *leaseProcess {
	t.Helper()
	p := &leaseProcess{cmd: exec.Command(os.Args[0]), addr: addr, said: make(chan string)}
	p.cmd.Env = append(os.Environ(), leaseChildEnv+"="+strings.Join(append([]string{dir, addr}, seeds...), " "))
	out, err := p.cmd.StdoutPipe()
	p.cmd.Stderr = p.cmd.Stdout
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.said <- lines.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *leaseProcess) kill() {
	_ = p.cmd.Process.Kill()
	for range p.said { // until the pipe is closed
	}
	_ = p.cmd.Wait()
}

// hears waits for a line of any of the processes that begins like this. It returns the rest of the
// line and the process that said it.
func hears(t *testing.T, ctx context.Context, begin string, a, b *leaseProcess) (string, *leaseProcess) {
	t.Helper()
	for {
		var line string
		var ok bool
		p := a
		select {
		case line, ok = <-a.said:
		case line, ok = <-b.said:
			p = b
		case <-ctx.Done():
			t.Fatalf("%q was not heard", begin)
		}
		if !ok {
			t.Fatalf("a process has ended; %q was awaited", begin)
		}
		if rest, found := strings.CutPrefix(line, begin); found {
			return rest, p
		}
		t.Logf("%s: %s", p.addr, line)
	}
}

// Two processes on one host and a directory of leases: whichever is killed, the other goes on, and
// takes a third in.
func TestOneOfTwoProcessesGoesOn(t *testing.T) {
	for _, whom := range []string{"the holder", "the other"} {
		t.Run(whom, func(t *testing.T) {
			ctx := testContext(t)
			dir, addrs := filepath.Join(t.TempDir(), "leases"), freeAddrs(t, 3)
			a, b := startLeaseProcess(t, dir, addrs[0], addrs[:2]), startLeaseProcess(t, dir, addrs[1], addrs[:2])
			uids, holder := map[*leaseProcess]string{}, (*leaseProcess)(nil)
			for len(uids) < 2 || holder == nil {
				switch what, p := hears(t, ctx, "", a, b); {
				case what == "arbiter":
					holder = p
				case strings.HasPrefix(what, "up "):
					uids[p] = what[len("up "):]
				}
			}
			dies, stays := a, b
			if (holder == b) == (whom == "the holder") {
				dies, stays = b, a
			}
			dies.kill()
			if got, _ := hears(t, ctx, "removed ", stays, stays); got != uids[dies]+", of 1, runs true" {
				t.Errorf("removed %s; %s has died", got, uids[dies])
			}
			store, err := file.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			n, err := ddata.Start(ctx, leaseConfig(store, addrs[2], []string{stays.addr}, 0))
			if err != nil {
				t.Fatal("a third does not get in:", err)
			}
			defer mustClose(t, n)
			until(t, n, "both", func(v *view.View) bool { return len(v.Voters()) == 2 })
			if err := ddata.Update(ctx, replica(t, n), names, ddata.WriteAll, add("x")); err != nil {
				t.Error("nothing can be written:", err)
			}
		})
	}
}

// The same in one process, with an arbiter that comes and goes.
func TestOneOfTwoGoesOnWhenTheArbiterIsBack(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		store := locks.NewMemory()
		addrs := mem.addrs(2)
		failing := make(chan struct{}, 1000)
		c := mem.leaseConfig(store, addrs[1], addrs, 2)
		c.OnEvent = eventstest.On(func(events.ArbiterFailing) { failing <- struct{}{} })
		nodes := startAll(t, mem.leaseConfig(store, addrs[0], addrs, 2), c)
		store.Fail(errors.New("the store is down"))
		mustClose(t, nodes[0])
		<-failing
		store.Fail(nil)
		until(t, nodes[1], "alone", func(v *view.View) bool { return len(v.Members) == 1 })
		if !nodes[1].HoldsLease() {
			t.Error("the last member may not run anything")
		}
		store.Take("members-test")
		if err := nodes[1].Leave(testContext(t)); err != nil {
			t.Error(err)
		}
		l, err := store.Lock("members-test", "test")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := l.Acquire(t.Context(), nil); !ok || err != nil {
			t.Error("an ended node holds the lease:", ok, err)
		}
	})
}

func TestLeasesAreRefusedWithTheReason(t *testing.T) {
	c := config("127.0.0.1:0", nil, 1)
	c.Downing = downing.LeaseMajority{}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Config.Leases: is nil") {
		t.Error("no store:", err)
	}
	c.Downing, c.Leases = downing.KeepMajority{}, locks.NewMemory()
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Config.Leases: is set") {
		t.Error("a store that is never asked is accepted:", err)
	}
	c.Downing = downing.LeaseMajority{MinorityDelay: -1}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "MinorityDelay -1ns is negative") {
		t.Error("a negative delay:", err)
	}
	addrs := freeAddrs(t, 2)
	n := startAll(t, leaseConfig(locks.NewMemory(), addrs[0], addrs[:1], 1))[0]
	_, err := ddata.Start(testContext(t), leaseConfig(locks.NewMemory(), addrs[1], []string{n.Addr()}, 0))
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), "Leases") {
		t.Error("two stores:", err)
	}
}
