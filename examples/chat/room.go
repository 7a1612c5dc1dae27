package main

import (
	"context"
	"errors"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// Say says something in a room. It is answered with the number of the message.
type Say struct {
	sharding.Returns[Say, int]
	User, Text string
}

// Message is what was said. Messages of a room are numbered from 1.
type Message struct {
	Number int    `json:"number"`
	User   string `json:"user"`
	Text   string `json:"text"`
}

// linesMax is how many messages of a room are kept.
const linesMax = 100

// ErrEmpty reaches the caller as itself, whatever node the room is on.
var ErrEmpty = errors.New("a message has a user and a text")

// linesOf is the key of the last messages of a room. Its room alone writes it, and all nodes watch it.
func linesOf(room string) ddata.Key[crdt.LWWRegister[[]Message]] {
	return ddata.NewKey[crdt.LWWRegister[[]Message]]("room/" + room)
}

// Room is the entity that puts what is said into an order.
type Room struct {
	data  *ddata.Replicator
	key   ddata.Key[crdt.LWWRegister[[]Message]]
	lines []Message
	known bool // lines are those that are stored
}

// Receive implements sharding.Entity.
func (r *Room) Receive(ctx *sharding.Context[Say], m Say) error {
	if m.User == "" || m.Text == "" {
		return ctx.Fail(ErrEmpty)
	}
	if err := r.read(ctx); err != nil {
		return err
	}
	number := 1
	if n := len(r.lines); n > 0 {
		number = r.lines[n-1].Number + 1
	}
	lines := append(r.lines[max(0, len(r.lines)-linesMax+1):len(r.lines):len(r.lines)], Message{number, m.User, m.Text})
	err := ddata.Update(ctx, r.data, r.key, ddata.WriteMajority, func(l *crdt.LWWRegisterTx[[]Message]) error {
		return l.Put(lines)
	})
	if err != nil {
		r.known = false // whether they are written is not known
		return err
	}
	r.lines = lines
	return ctx.Reply(number)
}

// read reads what an earlier incarnation has written, on this node or another.
func (r *Room) read(ctx context.Context) error {
	if r.known {
		return nil
	}
	stored, err := ddata.Get(ctx, r.data, r.key, ddata.ReadMajority)
	if err != nil {
		return err
	}
	r.lines, _ = stored.Get()
	r.known = true
	return nil
}

// roomType is the entity type on a node with these replicas.
func roomType(data *ddata.Replicator) sharding.EntityType[Say] {
	return sharding.EntityType[Say]{
		Identity: sharding.Identity{Name: "Room", Role: "web"},
		Messages: sharding.CBOR[Say](Say{}),
		Errors:   []error{ErrEmpty},
		New: func(c *sharding.Context[Say]) sharding.Entity[Say] {
			return &Room{data: data, key: linesOf(c.ID())}
		},
	}
}
