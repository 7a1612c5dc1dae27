package sharding

import "reflect"

// Administrative messages are routed like those of users, but are for the shard and not for the
// entity. Every registry knows them, under wire ids that no name hashes to in practice (a user's
// type that does is refused).
type (
	// passivateRequest asks for the end of an entity's incarnation.
	passivateRequest struct{}
	// startRequest asks for the start of an entity. It is answered with the node on which that runs.
	startRequest struct{}
)

// The wire ids of the administrative messages.
const (
	passivateWireID = 0
	startWireID     = 1
)

func (r *registry) reserve() {
	for id, example := range []any{passivateWireID: passivateRequest{}, startWireID: startRequest{}, carriedWireID: carried{}} {
		t := reflect.TypeOf(example)
		m := &msgType{id: uint32(id), name: t.String(), typ: t, plan: planOf(t)}
		r.byID[m.id], r.byType[t] = m, m
	}
}

// administrative reports whether a message is for the shard.
func administrative(msg any) bool {
	switch msg.(type) {
	case passivateRequest, startRequest:
		return true
	}
	return false
}

// carried is what another package sends to an entity, in bytes. Every registry knows it, as it does administrative messages.
type carried struct {
	_    struct{} `cbor:",toarray"`
	Body []byte
}

// carriedWireID is the wire id of carried.
const carriedWireID = 2
