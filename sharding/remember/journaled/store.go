package journaled

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// Store is a remember.Store on a Journal. Its methods may be called concurrently.
type Store struct {
	cfg Config

	mu        sync.Mutex
	histories map[protocol.EntityID]*history
}

var _ remember.Store = (*Store)(nil)

// New returns the store of one entity type. It does not touch the journal.
//
// Errors: ErrConfig.
func New(cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.faults().Wrap(ErrConfig); err != nil {
		return nil, err
	}
	return &Store{cfg: cfg, histories: map[protocol.EntityID]*history{}}, nil
}

// list is the entity that has the list of shards.
const list protocol.EntityID = "shards"

// Shards implements remember.Store.
func (s *Store) Shards(ctx context.Context) ([]protocol.ShardID, error) {
	names, err := s.history(list, 0).load(ctx)
	if err != nil {
		return nil, err
	}
	shards := make([]protocol.ShardID, 0, len(names))
	for _, name := range names {
		n, err := strconv.ParseUint(string(name), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no shard of %s", persistence.ErrDamaged, name, s.cfg.Type)
		}
		shards = append(shards, protocol.ShardID(n))
	}
	return shards, nil
}

// List implements remember.Store.
func (s *Store) List(ctx context.Context, add, remove []protocol.ShardID) error {
	return s.history(list, 0).update(ctx, changed{texts(add), texts(remove)})
}

// texts are the names of shards in the list.
func texts(shards []protocol.ShardID) [][]byte {
	out := make([][]byte, 0, len(shards))
	for _, s := range shards {
		out = append(out, strconv.AppendUint(nil, uint64(s), 10))
	}
	return out
}

// Load implements remember.Store.
func (s *Store) Load(ctx context.Context, shard protocol.ShardID) ([]protocol.EntityID, error) {
	return s.ids(shard).load(ctx)
}

// Update implements remember.Store.
func (s *Store) Update(ctx context.Context, shard protocol.ShardID, add, remove []protocol.EntityID) error {
	return s.ids(shard).update(ctx, changed{byteStrings(add), byteStrings(remove)})
}

func byteStrings(ids []protocol.EntityID) [][]byte {
	out := make([][]byte, 0, len(ids))
	for _, id := range ids {
		out = append(out, []byte(id))
	}
	return out
}

func (s *Store) ids(shard protocol.ShardID) *history {
	return s.history(protocol.EntityID("ids/"+strconv.FormatUint(uint64(shard), 10)), shard)
}

// history is that of a set. It stays, for the number at which it ends.
func (s *Store) history(id protocol.EntityID, shard protocol.ShardID) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.histories[id]
	if h == nil {
		h = &history{
			cfg: &s.cfg, id: id, turn: make(chan struct{}, 1),
			hosting: persistence.Hosting{Type: TypeName(s.cfg.Type), Shard: shard},
		}
		s.histories[id] = h
	}
	return h
}
