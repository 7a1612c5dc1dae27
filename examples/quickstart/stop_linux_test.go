package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var stopFor = flag.Duration("stop", 2500*time.Millisecond, "how long the process of the oldest node stands still, at least")

// A process that owns entities, and the coordinator, is stopped in the middle of its work, as by SIGSTOP from anywhere. The others remove it and run its
// entities. Continued, it has handlers to finish, messages in its mailboxes and on its sockets, and a view in which all is well: it must deliver none
// of them, no handler that was running may act any more, and the node must end with ErrDowned.
func TestStoppedProcessIsFenced(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), *stopFor+40*time.Second) // kills the processes
	defer cancel()
	nodes, evidence := startWitnesses(ctx, t, founders)
	i := slices.IndexFunc(nodes, func(c *child) bool { return ask(t, c, "running").Oldest })
	if i < 0 {
		t.Fatal("no node is the oldest")
	}
	victim, others := nodes[i], slices.Delete(slices.Clone(nodes), i, i+1)
	owned := ask(t, victim, "running").Running
	if len(owned) == 0 {
		t.Fatal("the oldest runs no entity")
	}

	if err := victim.tell("freeze"); err != nil {
		t.Fatal(err)
	}
	awaitStop(t, victim)
	round := time.NewTicker(50 * time.Millisecond)
	defer round.Stop()
	for begun := time.Now(); time.Since(begun) < *stopFor; {
		for _, c := range others { // their questions reach the stopped one's sockets first, and then the new homes
			ask(t, c, "mark")
		}
		<-round.C
	}
	for _, id := range owned {
		if !slices.ContainsFunc(others, func(c *child) bool { return slices.Contains(ask(t, c, "running").Running, id) }) {
			t.Fatalf("%s runs nowhere else", id)
		}
	}

	if err := victim.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := victim.wait(); err != nil { // for the answer to freeze
		t.Fatal(err)
	}
	victim.reap() // it ends by itself
	for _, c := range others {
		ask(t, c, "mark")
	}
	for _, c := range others {
		ask(t, c, "stop")
		c.reap()
	}
	lines, err := readEvidence(evidence)
	if err != nil {
		t.Fatal(err)
	}
	if err := judge(lines); err != nil {
		t.Error(err)
	}
	checkStopped(t, lines, victim.cmd.Process.Pid, owned)
}

// startWitnesses starts nodes in processes of their own, and all entities. They die with the test however it ends.
func startWitnesses(ctx context.Context, t *testing.T, n int) (nodes []*child, evidence string) {
	t.Helper()
	runtime.LockOSThread() // the signal at a parent's death is at that of the thread
	t.Cleanup(runtime.UnlockOSThread)
	dir := t.TempDir()
	evidence = filepath.Join(dir, "evidence")
	addrs := make([]string, n)
	for i := range addrs {
		var err error
		if addrs[i], err = freeAddr(); err != nil {
			t.Fatal(err)
		}
	}
	for i, addr := range addrs {
		name := fmt.Sprintf("node %d", i+1)
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), envWitness+"="+strings.Join(append([]string{evidence, filepath.Join(dir, fmt.Sprint(i)), addr}, addrs...), " "))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		c, err := launch(name, cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.kill)
		nodes = append(nodes, c)
	}
	for _, c := range nodes {
		ask(t, c, "running")
	}
	ask(t, nodes[0], "mark")
	return nodes, evidence
}

func ask(t *testing.T, c *child, do string) answer {
	t.Helper()
	a, err := c.ask(do)
	if err != nil {
		t.Fatalf("%s: %v", do, err)
	}
	return a
}

// awaitStop returns when the process stands still.
func awaitStop(t *testing.T, c *child) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%s did not stop: %v, status %#x", c.name, err, status)
	}
}

// checkStopped looks at what the stopped process said of itself.
func checkStopped(t *testing.T, lines []line, pid int, owned []string) {
	t.Helper()
	var stopping, woke, ended line
	refused, elsewhere := map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		switch {
		case l.PID != pid:
			if l.What == lineMade && stopping.What != "" && woke.What == "" && slices.Contains(owned, l.Entity) {
				elsewhere[l.Entity] = true
			}
		case l.What == lineStopping:
			stopping = l
		case l.What == lineWoke:
			woke = l
		case l.What == lineRefused:
			refused[l.Entity] = true
		case l.What == lineEnded:
			ended = l
		}
	}
	if len(refused) != len(owned) || len(elsewhere) != len(owned) {
		t.Errorf("of %d entities %d ran elsewhere meanwhile, and %d handlers were refused", len(owned), len(elsewhere), len(refused))
	}
	if !ended.Downed || !strings.Contains(ended.Text, "start the node again") {
		t.Errorf("the node ended so: %+v", ended)
	}
	stood := woke.At - stopping.At
	if stood < *stopFor {
		t.Errorf("it stood still for %v, not for %v", stood, *stopFor)
	}
	t.Logf("stood_ms=%d owned=%d refused=%d ended_after_ms=%d lines=%d: %s",
		stood.Milliseconds(), len(owned), len(refused), (ended.At - woke.At).Milliseconds(), len(lines), ended.Text)
}
