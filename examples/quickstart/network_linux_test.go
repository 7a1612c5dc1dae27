package main

import (
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/hosts"
)

var lossFor = flag.Duration("loss", 5*time.Second, "how long three packets of ten are lost, at least")

const networkLimit = 90 * time.Second // for a whole play, most of which wait for no more than a few seconds

// The node with the coordinator is cut off, in each of the ways in which packets
// can fail to arrive. The others remove it and run its entities; it ends with ErrDowned, though no
// other node can tell it. Started again on the same host after the network has healed, it is a
// member like the others.
func TestCutOffNodeIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(n *hosts.Network, victim *hosts.Host, others []*hosts.Host)
	}{
		{"both ways", func(n *hosts.Network, victim *hosts.Host, _ []*hosts.Host) { n.Isolate(victim) }},
		{"it is not heard", func(n *hosts.Network, victim *hosts.Host, others []*hosts.Host) {
			for _, o := range others {
				n.Cut(victim, o)
			}
		}},
		{"it hears no node", func(n *hosts.Network, victim *hosts.Host, others []*hosts.Host) {
			for _, o := range others {
				n.Cut(o, victim)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), networkLimit) // kills the processes
			defer cancel()
			p := startOnHosts(ctx, t, founders)
			victim, others := p.coordinator()
			owned := ask(t, victim, "running").Running
			i := slices.Index(p.nodes, victim)
			rest := slices.Delete(slices.Clone(p.hosts), i, i+1)

			c.cut(p.network, p.hosts[i], rest)
			begun := time.Now()
			victim.reap() // it ends by itself
			ended := time.Since(begun)
			p.all("mark", others...)
			p.runAt(owned, others)

			p.network.Heal()
			p.start(i)
			p.all("running", p.nodes...)
			p.all("mark", p.nodes...)
			t.Logf("owned=%d ended_after_ms=%d answered_after_ms=%d",
				len(owned), ended.Milliseconds(), time.Since(begun).Milliseconds())
			checkDowned(t, p.judge(), victim.cmd.Process.Pid)
		})
	}
}

// checkDowned looks for the end of a process's node.
func checkDowned(t *testing.T, lines []line, pid int) {
	t.Helper()
	i := slices.IndexFunc(lines, func(l line) bool { return l.PID == pid && l.What == lineEnded })
	if i < 0 || !lines[i].Downed {
		t.Errorf("the node of process %d did not end with ErrDowned: %v", pid, lines[max(i, 0)])
	}
}

// Three packets of ten are lost while all nodes send to all entities. With timers made for loopback
// that is a storm of false suspicions: nodes lose their leases, are removed, end and are started
// again, as an operator would. Whatever happens, nothing runs twice; and when it is over,
// everything answers.
func TestLostPackets(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), networkLimit+*lossFor)
	defer cancel()
	p := startOnHosts(ctx, t, founders)
	p.network.Lose(0.3)
	healed := make(chan struct{})
	time.AfterFunc(*lossFor, func() {
		p.network.Heal()
		close(healed)
	})
	p.markThrough(ctx, healed)
	p.judge()
	if p.network.Stats().Lost == 0 {
		t.Error("nothing was lost")
	}
}

// markThrough has every node mark again as soon as it has marked, and starts again at once
// whichever has ended, for others may wait for it. It returns when all have marked since the
// network was healed.
func (p *witnessPlay) markThrough(ctx context.Context, healed <-chan struct{}) {
	p.t.Helper()
	type marked struct {
		i   int
		err error
	}
	results := make(chan marked, len(p.nodes))
	// asked holds the nodes that are asked now, and whether that began after the healing.
	// since holds the nodes whose last mark began after the healing, and came.
	asked, since := map[int]bool{}, map[int]bool{}
	marks, failed, restarted := 0, 0, 0
	for over := false; len(since) < len(p.nodes) || len(asked) > 0; {
		select {
		case <-healed:
			over = true
		default:
		}
		for i, c := range p.nodes {
			if _, waits := asked[i]; waits || len(since) == len(p.nodes) {
				continue
			}
			asked[i] = over
			go func() {
				_, err := c.ask("mark")
				results <- marked{i, err}
			}()
		}
		r := <-results
		began := asked[r.i]
		delete(asked, r.i)
		delete(since, r.i)
		switch {
		case r.err == nil && began:
			since[r.i] = true
		case r.err == nil:
			marks++
		case ctx.Err() != nil:
			p.t.Fatal(r.err)
		case errors.Is(r.err, errProcessEnded):
			p.nodes[r.i].reap()
			p.start(r.i)
			restarted++
		default:
			failed++
		}
	}
	p.t.Logf("marks while packets were lost=%d failed=%d processes restarted=%d", marks, failed, restarted)
}

// kill -9 of the node with the coordinator, whose process is started again at once, on the same port and with the
// same directory.
func TestKilledNodeComesBackOnItsPort(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), networkLimit)
	defer cancel()
	p := startWitnesses(ctx, t, founders)
	victim, _ := p.coordinator()
	victim.kill()
	p.start(slices.Index(p.nodes, victim))
	p.all("running", p.nodes...)
	p.all("mark", p.nodes...)
	p.judge()
}

// Each of five nodes leaves and is started again, while the others send to all entities: none of
// their messages fails.
func TestRollingRestartOfFive(t *testing.T) {
	const nodes = 5
	ctx, cancel := context.WithTimeout(t.Context(), 2*networkLimit)
	defer cancel()
	p := startWitnesses(ctx, t, nodes)
	begun, rounds := time.Now(), 0
	for i, c := range p.nodes {
		if err := c.tell("leave"); err != nil {
			t.Fatal(err)
		}
		other := p.nodes[(i+1)%nodes]
		for left := false; !left; rounds++ {
			ask(t, other, "mark")
			select {
			case a, ok := <-c.lines:
				if left = true; !ok || a.Error != "" {
					t.Fatalf("%s: leave: %s", c.name, a.Error)
				}
			default:
			}
		}
		c.reap() // its node has ended, and with it the process
		p.start(i)
		ask(t, p.nodes[i], "running")
	}
	p.all("mark", p.nodes...)
	t.Logf("restarted=%d in_ms=%d rounds_of_messages=%d", nodes, time.Since(begun).Milliseconds(), rounds)
	p.judge()
}
