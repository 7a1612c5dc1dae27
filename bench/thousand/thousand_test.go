package thousand

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a play of a few seconds.
func small(nodes int) Settings {
	return Settings{
		Nodes: nodes, Shards: 25 * nodes, Restarts: -1, AtOnce: founders, Latency: 500 * time.Microsecond, Seed: 1,
	}
}

// A small cluster plays all acts. As many nodes restart at one time as there are founders, which may not be they.
func TestSmall(t *testing.T) {
	if err := Run(t.Context(), small(7*founders), func(n int) int { return n }); err != nil {
		t.Fatal(err)
	}
}

// What a member without a vote sends while nothing happens does not grow with the cluster: the heartbeats go to
// the voters, and gossip to one member at a time.
func TestAnIdleMemberCostsTheSame(t *testing.T) {
	idle := func(nodes int) float64 {
		w := newWorld(t.Context(), small(nodes).withDefaults())
		defer w.end()
		for _, play := range []func() error{w.join, w.place, func() error { return w.pass(5 * time.Second) }} {
			if err := play(); err != nil {
				t.Fatal(err)
			}
		}
		before := w.tally()
		if err := w.pass(10 * time.Second); err != nil {
			t.Fatal(err)
		}
		s, votes := w.byAge()[0], w.newest().Voters()
		if slices.ContainsFunc(votes, func(m view.Member) bool { return m.Addr == s.addr }) {
			t.Fatalf("the youngest of %d nodes votes, with %d others", nodes, len(votes)-1)
		}
		return float64(s.sent.bytes-before.sent[s.index].bytes) / 10
	}
	few, many := idle(30), idle(60)
	if few == 0 || many > few*1.1 {
		t.Errorf("%.0f bytes a second of 30 nodes, %.0f of 60", few, many)
	}
}

// A node that comes into a cluster with more shards than one step may take is told of all of them.
func TestStepsOfALargeTableAreBounded(t *testing.T) {
	set := small(founders).withDefaults()
	set.Shards, set.Restarts, set.AtOnce = 2*protocol.BatchMax+1, 1, 1
	w := newWorld(t.Context(), set)
	defer w.end()
	for _, play := range []func() error{w.join, w.place} {
		if err := play(); err != nil {
			t.Fatal(err)
		}
	}
	told := w.meter.by[regionPart]["protocol.TableChanged"].steps
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	if w.failed != nil {
		t.Fatal(w.failed)
	}
	if n := w.meter.by[regionPart]["protocol.TableChanged"].steps - told; n < 3 {
		t.Errorf("all nodes were told of the table %d times, the new one should have been more often", n)
	}
}

// A node that has ended takes no memory, though its timers have not run out: a play of large nodes would not end.
func TestEndedNodesAreForgotten(t *testing.T) {
	w := newWorld(t.Context(), small(5).withDefaults())
	defer w.end()
	for _, play := range []func() error{w.join, w.place} {
		if err := play(); err != nil {
			t.Fatal(err)
		}
	}
	forgotten := make(chan int, len(w.slots))
	for i, s := range w.slots {
		runtime.AddCleanup(s.node, func(i int) { forgotten <- i }, i)
	}
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(w.slots); {
		runtime.GC()
		select {
		case <-forgotten:
			n++
		default:
		}
	}
}

// Two owners of a shard at one instant end the play.
func TestTwoOwnersFail(t *testing.T) {
	w := newWorld(t.Context(), small(3).withDefaults())
	w.owners.starts(1, 7)
	w.owners.ends(2, 7)
	if w.owners.starts(2, 7); w.failed == nil {
		t.Error("a shard ran on two nodes")
	}
	if _, err := w.until(time.Second, func() bool { return true }); err == nil {
		t.Error("the play goes on")
	}
}

// What does not fit into memory is refused with what would fit.
func TestFits(t *testing.T) {
	s := Settings{Nodes: 1000}.withDefaults()
	if err := s.fits(64 << 30); err != nil {
		t.Error(err)
	}
	err := s.fits(16 << 30)
	if err == nil {
		t.Fatal("27 GB fit into 16")
	}
	_, hint, found := strings.Cut(err.Error(), "-shards ")
	if _, scanErr := fmt.Sscanf(hint, "%d", &s.Shards); !found || scanErr != nil || s.fits(16<<30) != nil {
		t.Errorf("%v: these do not fit either", err)
	}
	if err := s.fits(1 << 30); err == nil || strings.Contains(err.Error(), "-shards ") {
		t.Errorf("1,000 nodes in 1 GB: %v", err)
	}
}
