package remind

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/registered"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Memory is a Store for tests: it lives as long as the value does, not as long as a node. The zero
// value is empty and ready. It must not be copied. Its Due looks at all reminders of the shard.
type Memory struct {
	mu      sync.Mutex
	sets    map[protocol.ShardID]map[Key]Reminder
	watches registered.Set[func(protocol.ShardID, bool)]
	before  func(ctx context.Context, call string) error
}

var _ Store = (*Memory)(nil)

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

// Due implements Store.
func (m *Memory) Due(ctx context.Context, shard protocol.ShardID, until time.Time, limit int) ([]Reminder, time.Time,
	error) {
	if err := m.enter(ctx, "Due"); err != nil {
		return nil, time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.SortedFunc(maps.Values(m.sets[shard]), func(a, b Reminder) int { return a.At.Compare(b.At) })
	n := 0
	for n < min(len(all), limit) && !all[n].At.After(until) {
		n++
	}
	var next time.Time
	if n < len(all) {
		next = all[n].At
	}
	return copies(all[:n]), next, nil
}

// Of implements Store.
func (m *Memory) Of(ctx context.Context, shard protocol.ShardID, id protocol.EntityID) ([]Reminder, error) {
	if err := m.enter(ctx, "Of"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var own []Reminder
	for key, r := range m.sets[shard] {
		if key.Entity == id {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b Reminder) int { return strings.Compare(a.Name, b.Name) })
	return copies(own), nil
}

// Update implements Store.
func (m *Memory) Update(ctx context.Context, shard protocol.ShardID, changes []Change) error {
	if err := m.enter(ctx, "Update"); err != nil {
		return err
	}
	m.mu.Lock()
	for _, c := range changes {
		m.changeLocked(shard, c)
	}
	left := len(m.sets[shard]) > 0
	watches := m.watches.All()
	m.mu.Unlock()
	for _, fn := range watches {
		fn(shard, left)
	}
	return nil
}

func (m *Memory) changeLocked(shard protocol.ShardID, c Change) {
	set := m.sets[shard]
	if c.If != 0 && set[c.Key()].Version != c.If {
		return
	}
	if c.Remove {
		if delete(set, c.Key()); len(set) == 0 {
			delete(m.sets, shard)
		}
		return
	}
	if m.sets == nil {
		m.sets = map[protocol.ShardID]map[Key]Reminder{}
	}
	if set == nil {
		set = map[Key]Reminder{}
		m.sets[shard] = set
	}
	set[c.Key()] = copied(c.Reminder)
}

// Watch implements Store.
func (m *Memory) Watch(fn func(protocol.ShardID, bool)) (cancel func()) {
	m.mu.Lock()
	shards := slices.Sorted(maps.Keys(m.sets))
	cancel = m.watches.Add(&m.mu, fn)
	m.mu.Unlock()
	for _, s := range shards {
		fn(s, true)
	}
	return cancel
}

// copied has a body of its own, and times without the reading of a clock.
func copied(r Reminder) Reminder {
	r.Body = slices.Clone(r.Body)
	r.Due, r.At = r.Due.Round(0), r.At.Round(0)
	return r
}

func copies(all []Reminder) []Reminder {
	out := make([]Reminder, len(all))
	for i, r := range all {
		out[i] = copied(r)
	}
	return out
}
