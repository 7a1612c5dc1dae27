package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
)

// Processes are killed while every node asks every entity for numbers: one that owns entities, that
// of the coordinator, and both at one instant. Nothing runs twice, what was answered was handled,
// once and in order, each question has an end, and all entities answer again.
func TestKilledUnderLoad(t *testing.T) {
	for _, c := range []struct {
		name              string
		nodes             int
		coordinator, more bool // the killed processes: the coordinator's process, one other
	}{
		{"an owner", 3, false, true},
		{"the coordinator", 3, true, false},
		{"both", 5, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), networkLimit)
			defer cancel()
			p := startWitnesses(ctx, t, c.nodes)
			p.all("ask", p.nodes...)
			p.all("more", p.nodes...)
			coordinator, rest := p.coordinator()
			var victims []*child
			if c.coordinator {
				victims = append(victims, coordinator)
			} else {
				rest = append(rest, coordinator)
			}
			if c.more {
				victims, rest = append(victims, rest[0]), rest[1:]
			}
			killed := map[int]bool{}
			begun := time.Now()
			for _, v := range victims {
				killed[v.cmd.Process.Pid] = true
				if err := v.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			for _, v := range victims {
				v.reap()
			}
			p.all("mark", rest...)
			answered := time.Since(begun)
			p.all("more", rest...)
			p.all("rest", rest...)
			lines := p.judge()
			if err := judgeHandOffs(lines, killed); err != nil {
				t.Error(err)
			}
			sum := numbersSum(lines)
			t.Logf("all_answered_after_ms=%d %v", answered.Milliseconds(), sum)
			if sum[lineAcked] < (c.nodes+len(rest))*numbersMore || sum[lineMade] <= witnesses {
				t.Error("too little has happened")
			}
		})
	}
}

// Ten thousand numbered messages to each entity, from three processes, while its shard moves from
// process to process twenty times; then a node joins and gets its share, and the one with
// the coordinator leaves. No message is lost, doubled or out of order.
func TestNumbersWhileShardsMove(t *testing.T) {
	const moves = 20
	ctx, cancel := context.WithTimeout(t.Context(), networkLimit)
	defer cancel()
	p := startPatient(ctx, t, founders, ddata.LAN) // nothing dies here
	coordinator, others := p.coordinator()
	p.all("host", coordinator) // the first one has the coordinator of that type, too
	p.all("host", others...)
	p.all("tell", p.nodes...)
	begun := time.Now()
	for k := range moves {
		ask(t, coordinator, fmt.Sprint("move ", k))
	}
	moved := time.Since(begun)
	fourth := p.join()
	ask(t, fourth, "host")
	ask(t, coordinator, fmt.Sprint("move ", moves))
	p.all("rest", coordinator)
	ask(t, coordinator, "leave")
	coordinator.reap()
	p.all("rest", others...)
	lines := p.judge()
	if err := judgeHandOffs(lines, nil); err != nil {
		t.Error(err)
	}
	// Each hosting has handled something, so that each move was one under load.
	handled := map[string]map[string]int{}
	total := map[string]int{}
	for _, l := range lines {
		if l.What == lineHandled && l.N > 0 {
			if handled[l.Entity] == nil {
				handled[l.Entity] = map[string]int{}
			}
			handled[l.Entity][l.Token.String()]++
			total[l.Entity]++
		}
	}
	for _, id := range numbersID {
		if hosted := len(handled[id]); hosted < moves || total[id] < 3*numbersTold {
			t.Errorf("%s handled %d messages in %d hostings", id, total[id], hosted)
		}
	}
	t.Logf("moves_ms=%d messages=%d hostings_of_the_coordinator=%d",
		moved.Milliseconds(), numbersSum(lines)[lineHandled], len(handled[numbersID[0]]))
}
