package remember

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/registered"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Memory is a Store for tests: it lives as long as the value does, not as long as a node. The zero
// value is empty and ready. It must not be copied.
type Memory struct {
	mu      sync.Mutex
	listed  map[protocol.ShardID]bool
	sets    map[protocol.ShardID]map[protocol.EntityID]bool
	loaded  latest // by Load and Update
	listing latest // by List
	watches registered.Set[func(protocol.ShardID, protocol.IDsChanged)]
	before  func(ctx context.Context, call string) error
}

var _ Watcher = (*Memory)(nil)

// Before has fn called at the beginning of every call, with the name of the method: it may wait,
// and what it fails with is the call's error, which then has no effect. nil takes it away.
func (m *Memory) Before(fn func(ctx context.Context, call string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = fn
}

func (m *Memory) enter(ctx context.Context, call string) error {
	m.mu.Lock()
	fn := m.before
	m.mu.Unlock()
	if fn != nil {
		if err := fn(ctx, call); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// latest is the highest token of each shard.
type latest map[protocol.ShardID]singleton.FencingToken

// enter reports whether no later token was here, and notes this one.
func (l *latest) enter(shard protocol.ShardID, by singleton.FencingToken) bool {
	switch {
	case by.IsZero():
		return true
	case by.Less((*l)[shard]):
		return false
	case *l == nil:
		*l = latest{}
	}
	(*l)[shard] = by
	return true
}

func fenced(shard protocol.ShardID, by singleton.FencingToken) error {
	return fmt.Errorf("%w: shard %v, %v", ErrFenced, shard, by)
}

// Shards implements Store.
func (m *Memory) Shards(ctx context.Context, _ singleton.FencingToken) ([]protocol.ShardID, error) {
	if err := m.enter(ctx, "Shards"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.listed)), nil
}

// List implements Store.
func (m *Memory) List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error {
	if err := m.enter(ctx, "List"); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listed == nil {
		m.listed = map[protocol.ShardID]bool{}
	}
	late := func(s protocol.ShardID) bool { return !m.listing.enter(s, by) }
	change(m.listed, slices.DeleteFunc(slices.Clone(add), late), slices.DeleteFunc(slices.Clone(remove), late))
	return nil
}

// Load implements Store.
func (m *Memory) Load(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID,
) ([]protocol.EntityID, error) {
	if err := m.enter(ctx, "Load"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.loaded.enter(shard, by) {
		return nil, fenced(shard, by)
	}
	return slices.Sorted(maps.Keys(m.sets[shard])), nil
}

// Update implements Store.
func (m *Memory) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	if err := m.enter(ctx, "Update"); err != nil {
		return err
	}
	m.mu.Lock()
	if !m.loaded.enter(shard, by) {
		m.mu.Unlock()
		return fenced(shard, by)
	}
	if m.sets == nil {
		m.sets = map[protocol.ShardID]map[protocol.EntityID]bool{}
	}
	if m.sets[shard] == nil {
		m.sets[shard] = map[protocol.EntityID]bool{}
	}
	var told protocol.IDsChanged
	told.Added, told.Removed = change(m.sets[shard], add, remove)
	watches := m.watches.All()
	m.mu.Unlock()
	if len(told.Added)+len(told.Removed) > 0 {
		for _, fn := range watches {
			fn(shard, told)
		}
	}
	return nil
}

// Watch implements Watcher.
func (m *Memory) Watch(fn func(protocol.ShardID, protocol.IDsChanged)) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.watches.Add(&m.mu, fn)
}

// change edits a set and says what that changed.
func change[E comparable](set map[E]bool, add, remove []E) (added, removed []E) {
	for _, e := range add {
		if !set[e] {
			set[e] = true
			added = append(added, e)
		}
	}
	for _, e := range remove {
		if set[e] {
			delete(set, e)
			removed = append(removed, e)
		}
	}
	return added, removed
}
