package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding"
)

// stream is what one sender sends to one entity.
type stream struct{ from, entity string }

// judgeNumbers says everything by which the evidence shows that a numbered message was lost without
// a word, handled twice, or out of order.
//
// A message that was answered was handled, once; the questions of a sender end one after the other,
// each in one way. What was told and not refused is all handled, with no gap and in order, wherever
// the entity was meanwhile; for that, no process may have died. Where one has, order is kept within
// each hosting.
func judgeNumbers(lines []line) error {
	var faults []error
	handled, told := map[stream]map[uint64]bool{}, map[stream]bool{}
	last, outcome := map[stream]line{}, map[stream]uint64{}
	for _, l := range lines {
		if l.What == lineTold {
			told[stream{l.From, l.Entity}] = true
		}
	}
	for _, l := range lines {
		s := stream{l.From, l.Entity}
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf(format+": number %d of %s: %v", append(args, l.N, l.From, l)...))
		}
		before := last[s]
		switch {
		case l.What == lineDropped && len(told) > 0:
			fault("a message was dropped (%s)", l.Text)
		case l.N == 0:
		case l.What == lineHandled:
			if handled[s] == nil {
				handled[s] = map[uint64]bool{}
			}
			switch {
			case handled[s][l.N]:
				fault("a message is handled twice")
			case told[s] && l.N != before.N+1:
				fault("a message is handled after number %d", before.N)
			case l.Token == before.Token && l.N <= before.N:
				fault("a message is handled after number %d of the same hosting", before.N)
			}
			handled[s][l.N], last[s] = true, l
		case l.What == lineAcked || l.What == lineFailed:
			if l.N != outcome[s]+1 {
				fault("an end is missing after number %d", outcome[s])
			}
			if outcome[s] = l.N; l.What == lineAcked && !handled[s][l.N] {
				fault("a message was answered that no entity handled")
			}
			if told[s] && l.What == lineFailed {
				fault("a message was refused (%s)", l.Text)
			}
		case l.What == lineTold && before.N != l.N:
			fault("messages are missing after number %d", before.N)
		}
	}
	return errors.Join(faults...)
}

// judgeHandOffs says where the evidence shows that an entity was made while its last incarnation
// had not ended in order: with a line, or with its process.
func judgeHandOffs(lines []line, killed map[int]bool) error {
	var faults []error
	alive := map[string]line{}
	for _, l := range lines {
		switch l.What {
		case lineMade:
			if old, ok := alive[l.Entity]; ok && !killed[old.PID] {
				faults = append(faults, fmt.Errorf("%v: the incarnation of process %d has not stopped", l, old.PID))
			}
			alive[l.Entity] = l
		case lineStopped:
			if alive[l.Entity].PID == l.PID {
				delete(alive, l.Entity)
			}
		}
	}
	return errors.Join(faults...)
}

// numbersSum counts what the judges have looked at.
func numbersSum(lines []line) (sum map[string]int) {
	sum = map[string]int{}
	for _, l := range lines {
		if l.What == lineMade || l.N > 0 {
			sum[l.What]++
		}
	}
	return sum
}

func TestTheJudgeSeesWhatIsLostDoubledOrOutOfOrder(t *testing.T) {
	old, newer := sharding.FencingToken{Epoch: 1, Seq: 7}, sharding.FencingToken{Epoch: 1, Seq: 9}
	does := func(what string, token sharding.FencingToken, n uint64) line {
		return line{What: what, Entity: "e", From: "s", Token: token, N: n}
	}
	handles := func(token sharding.FencingToken, n uint64) line { return does(lineHandled, token, n) }
	acked, failed := does(lineAcked, sharding.FencingToken{}, 1), does(lineFailed, sharding.FencingToken{}, 1)
	told := func(n uint64) line { return does(lineTold, sharding.FencingToken{}, n) }
	for _, c := range []struct {
		want  string
		lines []line
	}{
		{"", []line{handles(old, 1), acked, handles(newer, 2), does(lineAcked, newer, 2)}},
		// a time-out, and it came after all
		{"", []line{failed, handles(old, 1)}},
		// across the death of a home
		{"", []line{handles(old, 2), handles(newer, 1), failed}},
		{"", []line{handles(old, 1), handles(old, 2), handles(newer, 3), told(3)}},                    //
		{"twice", []line{handles(old, 1), handles(newer, 1)}},                                         //
		{"of the same hosting", []line{handles(old, 2), handles(old, 1)}},                             //
		{"that no entity handled", []line{acked}},                                                     //
		{"an end is missing", []line{handles(old, 2), does(lineAcked, old, 2)}},                       //
		{"handled after number 1", []line{handles(old, 1), handles(newer, 3), told(3)}},               //
		{"handled after number 0", []line{handles(old, 2), handles(newer, 1), told(2)}},               //
		{"missing after number 2", []line{handles(old, 1), handles(old, 2), told(3)}},                 //
		{"dropped (stopped)", []line{handles(old, 1), {What: lineDropped, Text: "stopped"}, told(1)}}, //
		{"refused", []line{failed, told(0)}},
	} {
		if err := judgeNumbers(c.lines); c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want a fault with %q, got %v", c.want, err)
		}
	}
	made := func(pid int) line { return line{What: lineMade, Entity: "e", PID: pid} }
	stopped := line{What: lineStopped, Entity: "e", PID: 1}
	for _, c := range []struct {
		bad    bool
		killed int
		lines  []line
	}{
		{false, 0, []line{made(1), stopped, made(2)}}, {false, 1, []line{made(1), made(2)}},
		{true, 0, []line{made(1), made(2), stopped}},
		{true, 2, []line{made(1), made(2)}},
	} {
		if err := judgeHandOffs(c.lines, map[int]bool{c.killed: true}); (err != nil) != c.bad {
			t.Errorf("%v: %v", c.lines, err)
		}
	}
}
