package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// Command is what a counter understands.
type Command interface{ command() }

// Increment adds one and answers with the new count, once a majority of the pods has it.
type Increment struct {
	sharding.Returns[Command, uint64]
}

// Total answers with the count.
type Total struct {
	sharding.Returns[Command, uint64]
}

func (Increment) command() {}
func (Total) command()     {}

// counter is one entity. Its count is replicated data: it is there when the counter moves.
type counter struct {
	data *ddata.Replicator
	key  ddata.Key[crdt.GCounter]
}

func counterKey(name string) ddata.Key[crdt.GCounter] {
	return ddata.NewKey[crdt.GCounter]("counter/" + name)
}

// dataLimit bounds a read or a write of a counter.
const dataLimit = 8 * time.Second

// Receive implements sharding.Entity.
func (e *counter) Receive(c *sharding.Context[Command], msg Command) error {
	ctx, cancel := context.WithTimeout(c, dataLimit)
	defer cancel()
	level := ddata.ReadLocal
	switch msg.(type) {
	case Increment:
		add := func(g *crdt.GCounterTx) error { return g.Increment(1) }
		if err := ddata.Update(ctx, e.data, e.key, ddata.WriteMajority, add); err != nil {
			return c.Fail(err) // the caller does not know whether it counts
		}
	case Total:
		level = ddata.ReadMajority
	default:
		return fmt.Errorf("unknown command %T", msg)
	}
	g, err := ddata.Get(ctx, e.data, e.key, level)
	if err != nil {
		return c.Fail(err)
	}
	return c.Reply(g.Value())
}
