package main

import (
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// Message is what the measured entities understand.
type Message interface{ message() }

// Note is told: a payload of 100 bytes in all.
type Note struct{ Body []byte }

// Tagged and Priced are told, too, in turn with notes.
type (
	Tagged struct {
		Tag  string
		Body []byte
	}
	Priced struct {
		Price int64
		Body  []byte // nil
	}
)

// Query is asked and answered with its own number.
type Query struct {
	sharding.Returns[Message, uint64]
	N uint64
}

// Count asks how many notes an entity got.
type Count struct {
	sharding.Returns[Message, uint64]
}

// Asked asks how many queries an entity got.
type Asked struct {
	sharding.Returns[Message, uint64]
}

func (Note) message()   {}
func (Tagged) message() {}
func (Priced) message() {}
func (Query) message()  {}
func (Count) message()  {}
func (Asked) message()  {}

// sink is the measured entity.
type sink struct{ got, asked uint64 }

// Receive implements sharding.Entity.
func (s *sink) Receive(c *sharding.Context[Message], msg Message) error {
	switch m := msg.(type) {
	case Note, Tagged, Priced:
		s.got++
		return nil
	case Query:
		s.asked++
		return c.Reply(m.N)
	case Count:
		return c.Reply(s.got)
	case Asked:
		return c.Reply(s.asked)
	}
	return nil
}

func startEntities(n *ddata.Node) (*sharding.Region[Message], error) {
	return sharding.Start(n, sharding.EntityType[Message]{
		Identity: sharding.Identity{Name: "Sink", Role: role, Shards: 20},
		Messages: sharding.CBOR[Message](Note{}, Tagged{}, Priced{}, Query{}, Count{}, Asked{}),
		New:      func(*sharding.Context[Message]) sharding.Entity[Message] { return &sink{} },
	})
}

var body = make([]byte, payload)

// note makes a message, as senders do for each that they tell: as a Message it is an allocation of
// its own.
func note() Note { return Note{Body: body} }
