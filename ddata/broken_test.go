package ddata

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// A machine that panics ends its node and nothing else: without its lease at once, with the
// machine's state in the log. Callers get an answer.
func TestBrokenMachineEndsItsNode(t *testing.T) {
	invariant := errors.New("an invariant")
	for name, breaks := range map[string]func(*Node){
		"membership": func(n *Node) { n.members.loop.Force(memberInput{do: func() { panic(invariant) }}) },
		`replicator of the data of role "backend"`: func(n *Node) {
			r := n.replicas[keyspace.Dataset{Role: "backend"}]
			r.loop.Force(request{do: func(*replicaHost) { panic(invariant) }})
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan events.MachineBroken, 2)
			n := lone(t, func(c *Config) {
				c.OnEvent = eventstest.On(func(e events.MachineBroken) { told <- e; panic("a listener") })
			})
			r := n.replicas[keyspace.Dataset{Role: "backend"}]
			hold, held, late := make(chan struct{}), make(chan struct{}), make(chan effect.Result, 1)
			r.loop.Force(request{do: func(*replicaHost) { close(held); <-hold }})
			<-held
			breaks(n)
			// the node may have ended by now, if that did not wait for the replica: then nothing is taken any more
			tell := func(res effect.Result) { late <- res }
			waits := r.loop.Force(request{in: replicator.Get{ID: 1}, id: 1, done: tell})
			if !waits && name != "membership" {
				t.Error("the replica takes nothing any more, and has yet to break")
			}
			close(hold)
			<-n.life.ending
			if n.HoldsLease() {
				t.Error("a broken node holds its lease")
			}
			e := <-told
			if e.Machine != name || e.Panic != invariant.Error() ||
				!strings.Contains(e.Stack, "broken_test.go") || e.State == "" {
				t.Errorf("told %v", e)
			}
			<-n.Done()
			if err := n.Err(); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), name) {
				t.Errorf("ended with %v", err)
			}
			if waits {
				if res := <-late; name != "membership" && !errors.Is(res.Err, ErrBroken) {
					t.Errorf("a caller that waited got %v", res.Err)
				}
			}
			if _, err := Get(t.Context(), r, NewKey[crdt.ORSet[string]]("s"),
				ReadMajority); !errors.Is(err, ErrBroken) {
				t.Errorf("a caller that came late got %v", err)
			}
		})
	}
}

// A machine that cannot print itself is told of all the same.
func TestStateOfABrokenMachine(t *testing.T) {
	if s := stateOf((*Singleton)(nil)); !strings.Contains(s, "does not print itself") {
		t.Error(s)
	}
	if s := stateOf(long(stateMax + 1)); len(s) > stateMax+4 {
		t.Errorf("%d bytes of state", len(s))
	}
}

type long int

func (l long) String() string { return strings.Repeat("x", int(l)) }
