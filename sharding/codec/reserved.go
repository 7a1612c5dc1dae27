package codec

import "reflect"

// Administrative messages are routed like those of users, but are for the shard and not for the
// entity. Every registry knows them, under wire ids that no name hashes to in practice (a user's
// type that does is refused).
type (
	// Passivate asks for the end of an entity's incarnation.
	Passivate struct{}
	// Start asks for the start of an entity. It is answered with the node on which that runs.
	Start struct{}
)

// The wire ids of the administrative messages.
const (
	PassivateWireID = 0
	StartWireID     = 1
)

func (r *Registry) reserve() {
	for id, example := range []any{PassivateWireID: Passivate{}, StartWireID: Start{}, RawWireID: Raw{}} {
		t := reflect.TypeOf(example)
		r.keep(&Type{ID: uint32(id), Name: t.String(), Go: t, plan: planOf(t)})
	}
}

// Administrative reports whether a message is for the shard.
func Administrative(msg any) bool {
	switch msg.(type) {
	case Passivate, Start:
		return true
	}
	return false
}

// Raw is what another package sends to an entity, in bytes. Every registry knows it, as it does
// administrative messages.
type Raw struct {
	_    struct{} `cbor:",toarray"`
	Body []byte
}

// RawWireID is the wire id of Raw.
const RawWireID = 2
