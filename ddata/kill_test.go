package ddata_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
)

// childEnv makes this test binary a node of its own process: "ADDRESS DIRECTORY SEEDS…".
const childEnv = "COTERIE_DDATA_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := runWriter(strings.Fields(what)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if addr := os.Getenv(singletonEnv); addr != "" {
		fmt.Fprintln(os.Stderr, runSingletonChild(addr))
		os.Exit(1)
	}
	if what := os.Getenv(leaseChildEnv); what != "" {
		if err := runLeaseNode(strings.Fields(what)); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	if what := os.Getenv(markedEnv); what != "" {
		fmt.Fprintln(os.Stderr, runMarked(strings.Fields(what)))
		os.Exit(1)
	}
	if what := os.Getenv(leaverEnv); what != "" {
		if err := runLeaver(strings.Fields(what)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runWriter starts a node and adds elements to a durable set from many goroutines, by majority,
// without end. It prints each element that was acknowledged.
func runWriter(words []string) error {
	addr, dir, seeds := words[0], words[1], words[2:]
	c := config(addr, seeds, len(seeds))
	c.Dir, c.DurableKeys = dir, []string{"kept/*"}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	n, err := ddata.Start(ctx, c)
	if err != nil {
		return err
	}
	r, err := n.Replicator("backend")
	if err != nil {
		return err
	}
	var out sync.Mutex
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				e := fmt.Sprintf("%v/%d/%d", n.UID(), w, i)
				if err := ddata.Update(context.Background(), r, kept, ddata.WriteMajority, add(e)); err != nil {
					continue // one of the others has been killed already
				}
				out.Lock()
				fmt.Println(e)
				out.Unlock()
			}
		})
	}
	writers.Wait()
	return nil
}

// writerProcess is a node in a process of its own.
type writerProcess struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	acked  []string // once done is closed
	done   chan struct{}
}

// startWriter starts one. It calls heard for each acknowledged element, from a goroutine of its
// own.
func startWriter(t *testing.T, addr, dir string, seeds []string, heard func()) *writerProcess {
	t.Helper()
	p := &writerProcess{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(append([]string{addr, dir}, seeds...), " "))
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // and a line that the kill has cut in two does not count
			}
			p.acked = append(p.acked, strings.TrimSuffix(line, "\n"))
			heard()
		}
	}()
	return p
}

// Three processes write by majority and are killed, all at once and at any moment, again and again:
// what was acknowledged by then is found by the next ones that start on the directories.
func TestKillingAllProcessesLosesNothing(t *testing.T) {
	const rounds, nodes = 4, 3
	rng := rand.New(rand.NewPCG(7, 8))
	dirs := make([]string, nodes)
	for i := range dirs {
		dirs[i] = t.TempDir()
	}
	var acked []string
	for round := range rounds {
		enough := make(chan struct{})
		patience, heard := 100+rng.IntN(400), 0
		var mu sync.Mutex
		count := func() {
			mu.Lock()
			defer mu.Unlock()
			if heard++; heard == patience {
				close(enough)
			}
		}
		addrs := freeAddrs(t, nodes)
		processes := make([]*writerProcess, nodes)
		for i := range processes {
			processes[i] = startWriter(t, addrs[i], dirs[i], addrs, count)
		}
		select {
		case <-enough:
		case <-processes[0].done:
			t.Errorf("round %d: a process ended early: %s", round, processes[0].stderr.String())
		}
		for _, p := range processes {
			_ = p.cmd.Process.Kill()
		}
		for _, p := range processes {
			<-p.done
			_ = p.cmd.Wait()
			acked = append(acked, p.acked...)
		}
		checkAcked(t, round, dirs, acked)
	}
	t.Logf("%d writes acknowledged over %d kills of all", len(acked), rounds)
}

// checkAcked starts a cluster on the directories, reads, and stops it.
func checkAcked(t *testing.T, round int, dirs, acked []string) {
	t.Helper()
	nodes := startCluster(t, len(dirs), dirs)
	set, err := ddata.Get(testContext(t), replica(t, nodes[round%len(nodes)]), kept, ddata.ReadMajority)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, e := range acked {
		if !set.Contains(e) {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("round %d: %d of %d acknowledged writes are lost", round, lost, len(acked))
	}
	for _, n := range nodes {
		mustClose(t, n)
	}
}
