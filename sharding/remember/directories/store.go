package directories

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// Store is the remembered ids of one entity type. Its methods may be called concurrently.
type Store struct {
	typ string

	mu     sync.Mutex
	tables []*table
	all    *crdt.Store // what they come to; nil: to be made
}

var _ remember.Store = (*Store)(nil)

// errNone is a mistake of the caller's.
var errNone = errors.New("directories: there is no directory")

// Open reads the tables of the reserved data of a role, each of another directory. Nothing else may use them meanwhile.
// Errors are those of rows.Load.
func Open(entityType string, tables ...durable.Table) (*Store, error) {
	if len(tables) == 0 {
		return nil, errNone
	}
	s := &Store{typ: entityType}
	for i, t := range tables {
		one, err := load(t)
		if err != nil {
			return nil, fmt.Errorf("directories: table %d of %d: %w", i+1, len(tables), err)
		}
		s.tables = append(s.tables, one)
	}
	return s, nil
}

// Shards implements remember.Store.
func (s *Store) Shards(ctx context.Context, _ singleton.FencingToken) ([]protocol.ShardID, error) {
	in, err := s.read(ctx, protocol.StateRead{Kind: protocol.StateRemembered})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := protocol.DurablePrefix(s.typ)
	for key := range s.all.Snapshot().Keys(prefix) { // a shard that has ids counts, on the list or not
		if n, err := strconv.ParseUint(key[len(prefix):], 10, 32); err == nil {
			in.Shards = append(in.Shards, protocol.ShardID(n))
		}
	}
	slices.Sort(in.Shards)
	return slices.Compact(in.Shards), nil
}

// Load implements remember.Store.
func (s *Store) Load(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	in, err := s.read(ctx, protocol.StateRead{Kind: protocol.StateIDs, Shard: shard})
	return in.IDs, err
}

func (s *Store) read(ctx context.Context, r protocol.StateRead) (in protocol.DidRead, err error) {
	if err := ctx.Err(); err != nil {
		return in, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		if s.all, err = joined(s.tables); err != nil {
			return in, fmt.Errorf("directories: %w", err)
		}
	}
	in = r.Result(s.all.View(r.Key(s.typ)), nil)
	return in, in.Err
}

// List implements remember.Store.
func (s *Store) List(ctx context.Context, _ singleton.FencingToken, add, remove []protocol.ShardID) error {
	return s.write(ctx, protocol.StateWrite{Kind: protocol.StateRemembered, AddShards: add, RemoveShards: remove})
}

// Update implements remember.Store.
func (s *Store) Update(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	return s.write(ctx, protocol.StateWrite{Kind: protocol.StateIDs, Shard: shard, AddIDs: add, RemoveIDs: remove})
}

// write writes to each table, and to the others too if one fails.
func (s *Store) write(ctx context.Context, w protocol.StateWrite) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
	errs := make([]error, len(s.tables))
	for i, t := range s.tables {
		if err := t.write(w.Key(s.typ), w); err != nil {
			errs[i] = fmt.Errorf("directories: table %d of %d: %w", i+1, len(s.tables), err)
		}
	}
	return errors.Join(errs...)
}
