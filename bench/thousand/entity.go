package thousand

import (
	"fmt"
	"strconv"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Message is what entities understand.
type Message interface{ message() }

// Note is told to the first entity of each shard.
type Note struct{}

func (Note) message() {}

// entity is the real one of a shard.
type entity struct{}

// Receive implements sharding.Entity.
func (entity) Receive(*sharding.Context[Message], Message) error { return nil }

// startType has the user of a node start the entity type.
func (n *node) startType() (*sharding.Region[Message], error) {
	probe := host.Attach(n.host(), func() *control.Probe { return &control.Probe{} })
	probe.Stepping, probe.Stepped = n.stepping, n.stepped
	t := sharding.EntityType[Message]{
		Identity: sharding.Identity{
			Name: "Thousand", Role: role, Shards: n.w.set.Shards,
			ShardOf: sharding.ShardFunc{Name: "numbers", Of: shardOf},
		},
		Messages: sharding.CBOR[Message](Note{}),
		New:      func(*sharding.Context[Message]) sharding.Entity[Message] { return entity{} },
	}
	t.Passivation.Strategy.None = true
	return sharding.StartAt(n.host(), t, false)
}

// shardOf is the shard of an entity, whose id is a number: each shard has one of every Shards ids.
func shardOf(id string) sharding.ShardID {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		panic(fmt.Sprintf("an entity %q", id)) // there are no other ids
	}
	return protocol.ShardID(n)
}

// tell sends a message to the first entity of a shard.
func (n *node) tell(s int) {
	n.enter(func() {
		if err := n.region.Tell(n.w.ctx, strconv.Itoa(s), Note{}); err != nil {
			n.w.fail("%s cannot tell shard %d: %v", n.slot.addr, s, err)
		}
	})
}
