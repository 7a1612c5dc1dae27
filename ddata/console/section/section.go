package section

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/host"
)

// Errors of a section; match them with errors.Is.
var (
	// ErrUnknown: there is no such entity type on this node, or no such shard.
	ErrUnknown = errors.New("console: unknown")
	// ErrBad: the action lacks something, or cannot be done with this type. The error says what.
	ErrBad = errors.New("console: bad request")
)

// Entities shows the entity types of one node. Its methods may be called from any goroutine. Except
// Find and Act they ask no other node. Those that take a context may take until it ends, others return at once.
type Entities interface {
	// Types are those that were started on the node, by name.
	Types() []api.Type
	// Shards are those of a type from a number on, at most limit: their homes as the node knows
	// them, what of them is here, and which move, if the coordinator is here. total is how many the type has.
	Shards(ctx context.Context, typ string, from, limit int) (shards []api.Shard, total int, err error)
	// Entity is what the node itself knows of an entity.
	Entity(typ, id string) (api.Entity, error)
	// Find is where an entity is, for which other nodes are asked until ctx ends.
	Find(ctx context.Context, typ, id string) (api.Entity, error)
	// Act does what concerns entity types, and says what was done. It may take until ctx ends.
	Act(ctx context.Context, a api.Action) (text string, err error)
}

// desk is where the section of a node lies.
type desk struct{ entities atomic.Pointer[Entities] }

func deskOf(h host.Host) *desk { return host.Attach(h, func() *desk { return &desk{} }) }

// Put shows e on a node, in place of what was there.
func Put(h host.Host, e Entities) { deskOf(h).entities.Store(&e) }

// Of is what is shown on a node; nil: nothing.
func Of(h host.Host) Entities {
	if e := deskOf(h).entities.Load(); e != nil {
		return *e
	}
	return nil
}
