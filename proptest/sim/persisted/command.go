package persisted

import (
	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Command is what is sent to entities. Its number is its own in the world.
type Command interface{ number() uint64 }

// Context is that of their handlers.
type Context = sharding.Context[Command]

type (
	// Add has records stored.
	Add struct {
		sharding.Returns[Command, judge.Receipt]
		Number uint64 `cbor:"1,keyasint"`
		Parts  uint64 `cbor:"2,keyasint"` // how many records
	}
	// Look asks for the state.
	Look struct {
		sharding.Returns[Command, judge.Receipt]
		Number uint64 `cbor:"1,keyasint"`
	}
)

func (a Add) number() uint64  { return a.Number }
func (l Look) number() uint64 { return l.Number }

var (
	_ sharding.Request[Command, judge.Receipt] = Add{}
	_ sharding.Request[Command, judge.Receipt] = Look{}
)

// State is that of an entity.
type State struct {
	Seq  uint64       `cbor:"1,keyasint"` // how many records made it
	Sum  judge.Sum    `cbor:"2,keyasint"`
	Last judge.Record `cbor:"3,keyasint"`
}

// next is the state after one more record.
func (s State) next(r judge.Record) State { return State{s.Seq + 1, s.Sum.Next(r), r} }

// The stored forms.
var (
	records = schema.CBOR(schema.Type("record", judge.Record{}))
	states  = schema.CBOR(schema.Type("state", State{}))
)

// recordOf reads a stored event.
func recordOf(body []byte) (judge.Record, error) {
	return records.Decode(schema.Stored{Name: "record", Version: 1, Body: body})
}

// stateOf reads a stored value, or that in a snapshot.
func stateOf(body []byte) (State, error) {
	return states.Decode(schema.Stored{Name: "state", Version: 1, Body: body})
}
