package ddata_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// leaverEnv makes this test binary a node that leaves on SIGTERM: "ADDRESS SEED", and one that is
// stuck meanwhile: "ADDRESS SEED stuck".
const leaverEnv = "COTERIE_DDATA_TEST_LEAVER"

// runLeaver joins, says "up", and says the phases of its end and how it came.
func runLeaver(words []string) error {
	c := config(words[0], words[1:2], 0)
	c.LeaveOnSIGTERM = limit
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	n, err := ddata.Start(ctx, c)
	if err != nil {
		return err
	}
	for p := range shutdown.Phases {
		n.OnShutdown(p, "say", func(context.Context) error {
			_, err := fmt.Println(p, n.HoldsLease())
			return err
		})
	}
	if len(words) > 2 {
		n.OnShutdown(shutdown.BeforeServiceUnbind, "stuck", func(ctx context.Context) error {
			fmt.Println("stuck")
			<-ctx.Done()
			return ctx.Err()
		})
	}
	fmt.Println("up")
	<-n.Done()
	fmt.Println("left", errors.Is(n.Err(), ddata.ErrLeft))
	return nil
}

// A process that gets SIGTERM leaves through all phases, and ends by itself; the others come to a
// view without it by its own word.
func TestSIGTERMIsALeave(t *testing.T) {
	c := config(freeAddrs(t, 1)[0], nil, 1)
	w := watch(&c)
	n := startAll(t, c)[0]
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), leaverEnv+"="+freeAddrs(t, 1)[0]+" "+n.Addr())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(2*limit, func() { _ = cmd.Process.Kill() }).Stop()
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "up" {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			continue
		}
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	var want []string
	for p := range shutdown.Phases {
		want = append(want, fmt.Sprint(p, " ", p < shutdown.ClusterShutdown))
	}
	if want = append(want, "left true"); !slices.Equal(said, want) {
		t.Errorf("it said %q, want %q", said, want)
	}
	has(t, w, anyOf[events.MemberRemoved])
	for _, e := range w.events() {
		if _, ok := e.(events.MemberUnreachable); ok {
			t.Error("it fell silent:", e)
		}
	}
}

// The second SIGTERM has its usual effect, so that a process that is stuck in its leave can be
// ended without more force.
func TestSecondSIGTERMEndsAtOnce(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), leaverEnv+"="+freeAddrs(t, 1)[0]+" "+n.Addr()+" stuck")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(2*limit, func() { _ = cmd.Process.Kill() }).Stop()
	left := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch text := lines.Text(); {
		case text == "up" || text == "stuck":
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		case strings.HasPrefix(text, "left"):
			left = true
		}
	}
	_ = cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); left || !ok || !s.Signaled() ||
		s.Signal() != syscall.SIGTERM {
		t.Errorf("the process ended with %v, left %t", cmd.ProcessState, left)
	}
}

// phasesOf registers a task in each phase, and returns what ran, once the node has ended.
func phasesOf(n *ddata.Node) func() []shutdown.Phase {
	var mu sync.Mutex
	var ran []shutdown.Phase
	for p := range shutdown.Phases {
		n.OnShutdown(p, "note", func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, p)
			return nil
		})
	}
	return func() []shutdown.Phase {
		<-n.Done()
		mu.Lock()
		defer mu.Unlock()
		return ran
	}
}

// Whatever ends a node, its tasks run; a node that is no member any more hands nothing over.
func TestEachEndRunsItsPhases(t *testing.T) {
	var all, alone []shutdown.Phase
	for p := range shutdown.Phases {
		if all = append(all, p); !p.HandsOver() {
			alone = append(alone, p)
		}
	}
	nodes := startCluster(t, 3, nil)
	left, downed, closed := phasesOf(nodes[0]), phasesOf(nodes[1]), phasesOf(nodes[2])
	if err := nodes[0].Leave(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, all) {
		t.Errorf("left: %v", got)
	}
	if err := nodes[2].Down(nodes[1].UID()); err != nil {
		t.Fatal(err)
	}
	if got := downed(); !slices.Equal(got, alone) {
		t.Errorf("downed: %v", got)
	}
	mustClose(t, nodes[2])
	if got := closed(); !slices.Equal(got, alone) {
		t.Errorf("closed: %v", got)
	}
}

// A task of the service that hangs is named and holds up nothing; one that hands over and fails
// ends the leave: the others see a crash.
func TestTasksThatFail(t *testing.T) {
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.ShutdownTimeouts = map[shutdown.Phase]time.Duration{
		shutdown.ServiceStop: time.Millisecond, shutdown.ShardingShutdownRegion: time.Second,
	}
	w := watch(&c)
	n := startAll(t, c)[0]
	hang := make(chan struct{})
	n.OnShutdown(shutdown.ServiceStop, "deaf", func(context.Context) error { <-hang; return nil })
	if err := n.Leave(testContext(t)); err != nil {
		t.Fatal(err)
	}
	close(hang)
	has(t, w, func(e events.ShutdownPhase) bool {
		return e.Phase == "service-stop" && slices.Equal(e.Unfinished, []string{"deaf"})
	})

	c.Bind = freeAddrs(t, 1)[0]
	w = watch(&c)
	n = startAll(t, c)[0]
	n.OnShutdown(shutdown.ShardingShutdownRegion, "stubborn",
		func(context.Context) error { return errors.New("never") })
	err := n.Leave(testContext(t))
	if err == nil || !strings.Contains(err.Error(), "stubborn: never") || !errors.Is(n.Err(), ddata.ErrClosed) {
		t.Errorf("%v, ended with %v", err, n.Err())
	}
	has(t, w, func(e events.ShutdownPhase) bool { return e.Phase == "leave" && e.Err != nil })

	c.Bind, c.ShutdownTimeouts, c.LeaveOnSIGTERM = freeAddrs(t, 1)[0],
		map[shutdown.Phase]time.Duration{shutdown.Phases: 0}, -1
	for _, field := range []string{"ShutdownTimeouts", "LeaveOnSIGTERM"} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// A node that is closed while it leaves does not wait for what is being handed over.
func TestCloseEndsALeave(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	begun := make(chan struct{})
	n.OnShutdown(shutdown.ClusterExiting, "slow", func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	ended := make(chan error, 1)
	go func() { ended <- n.Leave(within(t, time.Hour)) }()
	<-begun
	mustClose(t, n)
	if err := <-ended; err == nil {
		t.Error("it left")
	}
}

// What is amiss with a node is said in words, from its start to its end.
func TestHealth(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(3)
		configs := make([]ddata.Config, 3)
		for i := range configs {
			configs[i] = mem.config(addrs[i], addrs, 3)
			configs[i].Downing = downing.DownAll{} // of two, either loses its lease without the other
		}
		block, blocked := make(chan struct{}), make(chan struct{})
		configs[0].OnEvent = eventstest.On(func(events.MemberUnreachable) {
			close(blocked)
			<-block
		})
		nodes := startAll(t, configs...)
		n := nodes[0]
		if h := n.Health(); !h.Live || !h.Ready || len(h.Reasons) > 0 {
			t.Errorf("all is well: %v", h)
		}
		leaving := make(chan events.Health, 1)
		nodes[1].OnShutdown(shutdown.ServiceUnbind, "look", func(context.Context) error {
			leaving <- nodes[1].Health()
			return nil
		})
		if err := nodes[1].Leave(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if h := <-leaving; !h.Live || h.Ready || !strings.Contains(h.String(), "leaving") {
			t.Errorf("leaving: %v", h)
		}
		until(t, n, "two are left", func(v *view.View) bool { return len(v.Members) == 2 })
		mustClose(t, nodes[2])
		<-blocked // the membership stands still, and the lease runs out
		for ctx := testContext(t); n.HoldsLease(); <-time.After(time.Millisecond) {
			if ctx.Err() != nil {
				t.Fatal("it keeps its lease")
			}
		}
		if h := n.Health(); !h.Live || h.Ready || !strings.Contains(h.String(), "no lease") {
			t.Errorf("without a lease: %v", h)
		}
		close(block)
		<-n.Done()
		if h := n.Health(); h.Live || h.Ready || !strings.Contains(h.String(), "start the node again") {
			t.Errorf("at the end: %v", h)
		}
	})
}
