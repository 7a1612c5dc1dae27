package protocol

import (
	"github.com/coterie-go/coterie/crdt"
)

// StateKind names a piece of the replicated state of a type.
type StateKind uint8

// Pieces of the replicated state.
const (
	StateHomes      StateKind = iota + 1 // the table of homes; volatile
	StateRegions                         // the regions and proxies that ever registered; volatile
	StateRemembered                      // the shards that have remembered ids; durable
	StateIDs                             // the remembered ids of one shard; durable
)

// DurablePrefix is the prefix of all keys of a type that must be durable when it remembers entities.
func DurablePrefix(typ string) string { return "sharding/" + typ + "/ids/" }

// StateKey is the key of a piece of a type's state; shard matters for StateIDs only.
func StateKey(typ string, k StateKind, shard ShardID) string {
	switch k {
	case StateHomes:
		return "sharding/" + typ + "/homes"
	case StateRegions:
		return "sharding/" + typ + "/regions"
	case StateRemembered:
		return DurablePrefix(typ) + "shards"
	}
	return DurablePrefix(typ) + shard.String()
}

// StateRead asks for a majority read of one key. Result makes the completion.
type StateRead struct {
	ID    uint64
	Kind  StateKind
	Shard ShardID // of StateIDs
}

// Key is the key to read.
func (r StateRead) Key(typ string) string { return StateKey(typ, r.Kind, r.Shard) }

// StateWrite asks for a majority write of one key: an Update with Mutate. It is idempotent, so it may be repeated.
type StateWrite struct {
	ID    uint64
	Kind  StateKind
	Shard ShardID // of StateIDs

	Homes                     []Entry
	AddRegions, RemoveRegions []UID
	AddShards, RemoveShards   []ShardID
	AddIDs, RemoveIDs         []EntityID
}

// Key is the key to update.
func (w StateWrite) Key(typ string) string { return StateKey(typ, w.Kind, w.Shard) }

// Mutate is the mutation of the Update. The StateWrite and its slices may be kept by the driver until it is done.
func (w StateWrite) Mutate(tx *crdt.Tx) error { return nil }

// Result turns the outcome of the read into the machine's input.
func (r StateRead) Result(v crdt.Reader, err error) DidRead { return DidRead{ID: r.ID, Err: err} }
