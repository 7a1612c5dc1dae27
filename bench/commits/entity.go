package commits

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Command is what the measured entities understand.
type Command interface{ command() }

// Add asks for one event, and for the number of all.
type Add struct {
	sharding.Returns[Command, int]
	Body []byte
}

// Count asks how many events there are.
type Count struct{ sharding.Returns[Command, int] }

func (Add) command()   {}
func (Count) command() {}

// Added is the event.
type Added struct{ Body []byte }

type effect = eventsourced.Effect[Command, Added, int]

// Name is that of the entity type.
const Name = "Counted"

// Role is that of its nodes.
const Role = "bench"

// Shards is how many the type has.
const Shards = 20

// Events is the schema of the events.
func Events() schema.Schema[Added] { return schema.CBOR(schema.Type("Added", Added{})) }

// Type is the entity type, with its events in a journal.
func Type(journal persistence.Journal) (sharding.EntityType[Command], error) {
	return eventsourced.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: Name, Role: Role, Shards: Shards},
		Messages: sharding.CBOR[Command](Add{}, Count{}),
	}, eventsourced.Behavior[Command, Added, int]{
		Journal: journal,
		Events:  Events(),
		Handle: func(c *sharding.Context[Command], n int, cmd Command) (effect, error) {
			switch cmd := cmd.(type) {
			case Add:
				return effect{}.Persist(Added{cmd.Body}).ThenReply(func(n int) any { return n }), nil
			case Count:
				return effect{}, c.Reply(n)
			}
			return effect{}, fmt.Errorf("unknown command %T", cmd)
		},
		Apply: func(n int, _ Added) int { return n + 1 },
	})
}

// Start starts the type on nodes, each with its journal. It returns the region of the first node.
func Start(
	nodes []*ddata.Node, journal func(*ddata.Node) (persistence.Journal, error),
) (first *sharding.Region[Command], err error) {
	for _, n := range nodes {
		j, err := journal(n)
		if err != nil {
			return nil, err
		}
		typ, err := Type(j)
		if err != nil {
			return nil, err
		}
		region, err := sharding.Start(n, typ)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = region
		}
	}
	return first, nil
}
