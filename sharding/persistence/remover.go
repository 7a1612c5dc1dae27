package persistence

import (
	"context"
	"fmt"
)

// Remover forgets whole types of entities. It is for tools, while nothing else uses the store.
type Remover interface {
	// Holds counts what there is of a type.
	Holds(ctx context.Context, typ string) (Held, error)
	// Remove forgets everything of a type, the sequence numbers and the tokens of its shards too, and
	// returns what it was. It removes all or nothing. A type that is not there is no error.
	Remove(ctx context.Context, typ string) (Held, error)
}

// Held counts what a store has of a type.
type Held struct {
	Shards    int64 // that were ever fenced
	Events    int64 // that were not deleted
	Snapshots int64
	States    int64
}

func (h Held) String() string {
	return fmt.Sprintf("shards=%d events=%d snapshots=%d states=%d", h.Shards, h.Events, h.Snapshots, h.States)
}
