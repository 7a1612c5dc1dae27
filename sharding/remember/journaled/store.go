package journaled

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/history"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// Store is a remember.Store on a Journal. Its methods may be called concurrently.
type Store struct {
	cfg history.Config
	typ string // of the entities

	mu        sync.Mutex
	histories map[protocol.EntityID]*kept
	due       []*kept // those with kept.due
}

var (
	_ remember.Scheduled = (*Store)(nil)
	_ remember.Tidier    = (*Store)(nil)
)

// New returns the store of one entity type. It does not touch the journal.
//
// Errors: ErrConfig.
func New(cfg Config) (*Store, error) {
	if err := cfg.faults().Wrap(ErrConfig); err != nil {
		return nil, err
	}
	return newStore(cfg.histories(), cfg.Type), nil
}

// EntityType is the name of the entity type.
func (s *Store) EntityType() string { return s.typ }

func newStore(cfg history.Config, entityType string) *Store {
	return &Store{cfg: cfg, typ: entityType, histories: map[protocol.EntityID]*kept{}}
}

// On implements remember.Scheduled.
func (s *Store) On(by scheduler.Scheduler) remember.Store {
	cfg := s.cfg
	cfg.Scheduler = by
	return newStore(cfg, s.typ)
}

// list is the entity that has the list of shards.
const list protocol.EntityID = "shards"

// Shards implements remember.Store.
func (s *Store) Shards(ctx context.Context, by singleton.FencingToken) ([]protocol.ShardID, error) {
	listed, err := s.load(ctx, s.listing(), by)
	if err != nil {
		return nil, err
	}
	names := listed.names()
	shards := make([]protocol.ShardID, 0, len(names))
	for _, name := range names {
		n, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is no shard of %s", persistence.ErrDamaged, name, s.typ)
		}
		shards = append(shards, protocol.ShardID(n))
	}
	return shards, nil
}

// List implements remember.Store.
func (s *Store) List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error {
	return s.update(ctx, s.listing(), changed{texts(add), texts(remove), history.StoredTokenOf(by)})
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
func (s *Store) Load(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	ids, err := s.load(ctx, s.ids(shard), by)
	if err != nil {
		return nil, err
	}
	out := make([]protocol.EntityID, 0, len(ids.of))
	for _, name := range ids.names() {
		out = append(out, protocol.EntityID(name))
	}
	return out, nil
}

// Update implements remember.Store.
func (s *Store) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	return s.update(ctx, s.ids(shard), changed{byteStrings(add), byteStrings(remove), history.StoredTokenOf(by)})
}

func byteStrings(ids []protocol.EntityID) [][]byte {
	out := make([][]byte, 0, len(ids))
	for _, id := range ids {
		out = append(out, []byte(id))
	}
	return out
}

func (s *Store) ids(shard protocol.ShardID) *kept {
	return s.history(&ids, protocol.EntityID("ids/"+strconv.FormatUint(uint64(shard), 10)), shard)
}

func (s *Store) listing() *kept { return s.history(&shards, list, 0) }

// kept is a set in the journal.
type kept struct {
	history *history.History[*set]
	by      persistence.Hosting // without a token: those of the events fence, so that a tool can go on
	due     bool                // it has a snapshot to make; guarded by Store.mu
}

// history is that of a set. It stays, for the number at which it ends.
func (s *Store) history(form *history.Form[*set], id protocol.EntityID, shard protocol.ShardID) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.histories[id]
	if h == nil {
		h = &kept{
			history: history.New(&s.cfg, form, id),
			by:      persistence.Hosting{Type: TypeName(s.typ), Shard: shard},
		}
		s.histories[id] = h
	}
	return h
}

// load is a set, after which nothing that was on its way takes effect.
func (s *Store) load(ctx context.Context, k *kept, by singleton.FencingToken) (*set, error) {
	v, due, err := k.history.LoadAfter(ctx, k.by, loaded{history.StoredTokenOf(by)})
	if err != nil {
		return nil, explained(err)
	}
	s.note(k, due)
	return v, nil
}

// update appends a change of a set.
func (s *Store) update(ctx context.Context, k *kept, c changed) error {
	due, err := k.history.Change(ctx, k.by, c)
	s.note(k, due)
	return explained(err)
}

// explained says of a refused call what it means for a region.
func explained(err error) error {
	if errors.Is(err, persistence.ErrFenced) {
		return fmt.Errorf("%w: %w", remember.ErrFenced, err)
	}
	return err
}

// note has the next Tidy make a snapshot of a set, if one is due.
func (s *Store) note(k *kept, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if due && !k.due {
		k.due = true
		s.due = append(s.due, k)
	}
}

// Tidy implements remember.Tidier. It makes the snapshots that are due, and deletes what they
// replace.
func (s *Store) Tidy(ctx context.Context) {
	for ctx.Err() == nil {
		k, found := s.maybeNext()
		if !found {
			return
		}
		k.history.Cut(ctx, k.by)
	}
}

// maybeNext takes a set of which a snapshot is due.
func (s *Store) maybeNext() (k *kept, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.due) == 0 {
		return nil, false
	}
	k, s.due = s.due[0], s.due[1:]
	k.due = false
	return k, true
}
