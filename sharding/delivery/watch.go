package delivery

import (
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// Step is one step of the consumer of an entity.
type Step struct {
	Entity      string
	Incarnation uint64                    // of the entity, a number that no other has
	In          protocol.ConsumerInput    // what has come: a packet, or how a handler has ended
	Fx          *protocol.ConsumerEffects // what comes of it; valid during the call only
}

// Watch has fn look at each step of the consumers of a region on this node, before its effects are
// carried out: Fx.Deliver is given to a handler next. It is for simulators, which judge what is delivered.
// It is called once, before anything is delivered.
func Watch[M any](g *sharding.Region[M], fn func(Step)) { intakeOf(g).watch = fn }
