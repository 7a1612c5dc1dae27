package replicator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
)

// Two machines, and a loop that carries their messages. A real driver also has disks and timers.
func Example() {
	nodes := map[crdt.Origin]*replicator.Machine{}
	view := replica.View{Epoch: 1, Founded: true, Voters: []replica.Member{{ID: 1}, {ID: 2}}}
	type letter struct {
		from crdt.Origin
		effect.Envelope
	}
	var mail []letter
	step := func(id crdt.Origin, in replicator.Input) {
		e := nodes[id].Step(time.Unix(0, 0), in)
		for _, env := range e.Send {
			mail = append(mail, letter{id, env})
		}
		for _, r := range e.Reply {
			fmt.Println(r)
		}
		for _, c := range e.Notify {
			fmt.Println(c)
		}
	}
	deliver := func() {
		for len(mail) > 0 {
			l := mail[0]
			mail = mail[1:]
			step(l.To, &replicator.Receive{From: l.from, Msg: l.Msg})
		}
	}

	for id := crdt.Origin(1); id <= 2; id++ {
		m, err := replicator.New(settings.Config{Self: id}, rand.New(rand.NewPCG(1, uint64(id))), replicator.Loaded{})
		if err != nil {
			panic(err)
		}
		nodes[id] = m
	}
	step(1, replicator.Install{View: view})
	step(2, replicator.Install{View: view})
	step(2, replicator.Subscribe{ID: 1, Key: "fruit"})
	step(1, replicator.Update{ID: 2, Key: "fruit", Write: quorum.All, Mutate: func(t *crdt.Tx) error {
		return crdt.ORSet[string]{}.Mutator(t).Add("apple")
	}})
	deliver()

	set, err := crdt.ORSet[string]{}.View(nodes[2].Snapshot(keyspace.Volatile).View("fruit"))
	fmt.Println(slices.Collect(set.All()), err)
	// Output:
	// notify #1 "fruit" items 1
	// reply #2 ok
	// [apple] <nil>
}
