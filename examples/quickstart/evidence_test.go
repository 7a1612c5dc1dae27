package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding"
)

// The evidence of what entities did is one file to which all processes append. The kernel puts the
// lines into one order, so whatever an old hosting of an entity does after a newer one has begun is
// seen. A lock could not show it: a process that is stopped keeps its locks.

// What a line of the evidence tells.
const (
	lineMade     = "made"     // an entity was made
	lineHandled  = "handled"  // it handled a message
	lineStopped  = "stopped"  // its incarnation has ended in order
	lineRefused  = "refused"  // it had no lease, and did not write one of the two
	lineLate     = "late"     // a handler started after its process woke
	lineStopping = "stopping" // the process stops itself
	lineWoke     = "woke"     // it has been continued
	lineEnded    = "ended"    // its node has ended

	// What senders of numbered messages tell (numbers_test.go).
	lineAcked   = "acked"   // one was answered
	lineFailed  = "failed"  // one was not, and this is why
	lineTold    = "told"    // all up to this one were sent
	lineDropped = "dropped" // a region dropped a message, and this is why
)

// line is one of the evidence.
type line struct {
	What   string
	Entity string                `json:",omitempty"`
	PID    int                   // of the process that wrote it
	Token  sharding.FencingToken // of the hosting, when made or handled
	Seq    uint64                // counts what is made and handled by one incarnation, from 0
	At     time.Duration         // on the machine's monotonic clock
	Downed bool                  `json:",omitempty"` // of a node that has ended: with ErrDowned
	From   string                `json:",omitempty"` // the sender of a numbered message
	N      uint64                `json:",omitempty"` // its number, of this sender to this entity, from 1
	Text   string                `json:",omitempty"`
}

func (l line) String() string {
	return fmt.Sprintf("%s %s by process %d under %v, number %d, at %v", l.Entity, l.What, l.PID, l.Token, l.Seq, l.At)
}

// lineStart is how each line begins.
const lineStart = `{"What":`

// readEvidence reads the lines. Of one that its process was killed in the middle of only the
// beginning may be there, with the next line behind it.
func readEvidence(path string) ([]line, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []line
	for text := range bytes.Lines(b) {
		var l line
		err := json.Unmarshal(text, &l)
		if cut := bytes.LastIndex(text, []byte(lineStart)); err != nil && cut > 0 {
			err = json.Unmarshal(text[cut:], &l)
		}
		switch {
		case err == nil:
			lines = append(lines, l)
		case !bytes.HasSuffix(text, []byte("\n")): // the last one
		default:
			return nil, fmt.Errorf("line %d of the evidence: %w: %q", len(lines)+1, err, text)
		}
	}
	return lines, nil
}

// judge says everything by which the evidence shows that an entity ran twice, or ran in a process
// that had been stopped.
func judge(lines []line) error {
	var faults []error
	last, woken := map[string]line{}, map[int]bool{}
	for _, l := range lines {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf(format+": %v", append(args, l)...))
		}
		switch l.What {
		case lineWoke:
			woken[l.PID] = true
		case lineLate:
			fault("a message was delivered after the process woke")
		case lineMade, lineHandled:
			before, known := last[l.Entity]
			newer := !known || before.Token.Less(l.Token)
			switch {
			case woken[l.PID]:
				fault("an entity acts in a process that had been stopped")
			case newer && l.Seq != 0:
				fault("a hosting begins in the middle")
			case newer:
			case l.Token.Less(before.Token):
				fault("an old hosting acts after a newer one (%v)", before)
			case l.PID != before.PID:
				fault("two processes act under one token (%v)", before)
			case l.Seq != before.Seq+1:
				fault("two incarnations act in turn (%v)", before)
			}
			last[l.Entity] = l
		}
	}
	return errors.Join(faults...)
}

func TestEvidenceOfTheKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evidence")
	read := func(text string) ([]line, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return readEvidence(path)
	}
	whole := `{"What":"made","PID":1}` + "\n"
	for text, want := range map[string]int{
		whole + whole: 2, whole[:9] + whole: 1, whole[:15] + whole + whole + whole[:20]: 2,
	} {
		if lines, err := read(text); err != nil || len(lines) != want {
			t.Errorf("%q: %v %v", text, lines, err)
		}
	}
	if _, err := read("nonsense\n" + whole); err == nil {
		t.Error("nonsense is taken")
	}
}

func TestTheJudgeSeesWhatRanTwice(t *testing.T) {
	old, newer := sharding.FencingToken{Epoch: 1, Up: 1, Seq: 7}, sharding.FencingToken{Epoch: 2, Up: 2, Seq: 1}
	act := func(pid int, token sharding.FencingToken, seq uint64) line {
		return line{What: lineHandled, Entity: "e", PID: pid, Token: token, Seq: seq}
	}
	for _, c := range []struct {
		want  string
		lines []line
	}{
		{"", []line{act(1, old, 0), act(1, old, 1), act(2, newer, 0), {What: lineWoke, PID: 1},
			{What: lineRefused, PID: 1}, act(2, newer, 1)}},
		{"old hosting", []line{act(1, old, 0), act(2, newer, 0), act(1, old, 1)}},
		{"one token", []line{act(1, old, 0), act(2, old, 1)}},
		{"in turn", []line{act(1, old, 0), act(1, old, 0)}},
		{"in the middle", []line{act(1, old, 0), act(2, newer, 1)}},
		{"had been stopped", []line{act(1, old, 0), {What: lineWoke, PID: 1}, act(1, old, 1)}},
		{"after the process woke", []line{{What: lineLate, Entity: "e", PID: 1}}},
	} {
		if err := judge(c.lines); c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want a fault with %q, got %v", c.want, err)
		}
	}
}
