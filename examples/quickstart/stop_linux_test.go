package main

import (
	"context"
	"flag"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var stopFor = flag.Duration("stop", 2500*time.Millisecond,
	"how long the process of the node with the coordinator stands still, at least")

// A process that owns entities, and the coordinator, is stopped in the middle of its work, as by
// SIGSTOP from anywhere. The others remove it and run its entities. Continued, it has handlers to
// finish, messages in its mailboxes and on its sockets, and a view in which all is well: it must
// deliver none of them, no handler that was running may act any more, and the node must end with
// ErrDowned.
func TestStoppedProcessIsFenced(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), *stopFor+40*time.Second) // kills the processes
	defer cancel()
	p := startWitnesses(ctx, t, founders)
	victim, others := p.coordinator()
	owned := ask(t, victim, "running").Running

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
	p.runAt(owned, others)

	if err := victim.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := victim.wait(); err != nil { // for the answer to freeze
		t.Fatal(err)
	}
	victim.reap() // it ends by itself
	p.all("mark", others...)
	lines := p.judge()
	checkStopped(t, lines, victim.cmd.Process.Pid, owned)
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
		t.Errorf("of %d entities %d ran elsewhere meanwhile, and %d handlers were refused",
			len(owned), len(elsewhere), len(refused))
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
