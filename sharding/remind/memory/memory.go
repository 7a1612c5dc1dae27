package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/registered"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Store is a remind.Store. The zero value is empty and ready. It must not be copied.
type Store struct {
	mu      sync.Mutex
	sets    map[protocol.ShardID]map[remind.Key]remind.Reminder
	latest  map[protocol.ShardID]singleton.FencingToken
	numbers map[protocol.ShardID]uint64 // of the last update of the latest hosting
	watches registered.Set[func(protocol.ShardID, bool)]
	before  func(ctx context.Context, call string) error
}

var _ remind.Store = (*Store)(nil)

// Before has fn called at the beginning of every call, with the name of the method: it may wait,
// and what it fails with is the call's error, which then has no effect. nil takes it away.
func (m *Store) Before(fn func(ctx context.Context, call string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = fn
}

func (m *Store) enter(ctx context.Context, call string) error {
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

// fenceLocked fails if a later token was here, and notes this one.
func (m *Store) fenceLocked(by singleton.FencingToken, shard protocol.ShardID) error {
	switch {
	case by.IsZero():
		return nil
	case by.Less(m.latest[shard]):
		return fmt.Errorf("%w: shard %v, %v", remind.ErrFenced, shard, by)
	case m.latest == nil:
		m.latest = map[protocol.ShardID]singleton.FencingToken{}
	}
	if m.latest[shard] != by {
		m.latest[shard] = by
		delete(m.numbers, shard)
	}
	return nil
}

// orderLocked fails if a later update of the hosting was here, and notes this one.
func (m *Store) orderLocked(by singleton.FencingToken, shard protocol.ShardID, number uint64) error {
	switch {
	case by.IsZero():
		return nil
	case number < m.numbers[shard]:
		return fmt.Errorf("%w: shard %v, number %d after %d", remind.ErrOvertaken, shard, number, m.numbers[shard])
	case m.numbers == nil:
		m.numbers = map[protocol.ShardID]uint64{}
	}
	m.numbers[shard] = number
	return nil
}

// Due implements remind.Store.
func (m *Store) Due(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
) (due []remind.Reminder, next time.Time, err error) {
	if err := m.enter(ctx, "Due"); err != nil {
		return nil, time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fenceLocked(by, shard); err != nil {
		return nil, time.Time{}, err
	}
	all := slices.SortedFunc(maps.Values(m.sets[shard]), func(a, b remind.Reminder) int {
		return cmp.Or(a.At.Compare(b.At), a.Key().Compare(b.Key()))
	})
	n := 0
	for n < min(len(all), limit) && !all[n].At.After(until) {
		n++
	}
	if n < len(all) {
		next = all[n].At
	}
	return copies(all[:n]), next, nil
}

// Of implements remind.Store.
func (m *Store) Of(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) ([]remind.Reminder, error) {
	if err := m.enter(ctx, "Of"); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fenceLocked(by, shard); err != nil {
		return nil, err
	}
	var own []remind.Reminder
	for key, r := range m.sets[shard] {
		if key.Entity == id {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b remind.Reminder) int { return strings.Compare(a.Name, b.Name) })
	return copies(own), nil
}

// All implements remind.Store.
func (m *Store) All(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) (all []remind.Reminder, last remind.Key, err error) {
	if err := m.enter(ctx, "All"); err != nil {
		return nil, last, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fenceLocked(by, shard); err != nil {
		return nil, last, err
	}
	for _, key := range slices.SortedFunc(maps.Keys(m.sets[shard]), remind.Key.Compare) {
		if key.Compare(after) > 0 && len(all) < limit {
			all, last = append(all, copied(m.sets[shard][key])), key
		}
	}
	return all, last, nil
}

// Update implements remind.Store.
func (m *Store) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	if err := m.enter(ctx, "Update"); err != nil {
		return err
	}
	m.mu.Lock()
	err := m.fenceLocked(by, shard)
	if err == nil {
		err = m.orderLocked(by, shard, number)
	}
	if err != nil {
		m.mu.Unlock()
		return err
	}
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

func (m *Store) changeLocked(shard protocol.ShardID, c remind.Change) {
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
		m.sets = map[protocol.ShardID]map[remind.Key]remind.Reminder{}
	}
	if set == nil {
		set = map[remind.Key]remind.Reminder{}
		m.sets[shard] = set
	}
	set[c.Key()] = copied(c.Reminder)
}

// Watch implements remind.Store.
func (m *Store) Watch(fn func(protocol.ShardID, bool)) (cancel func()) {
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
func copied(r remind.Reminder) remind.Reminder {
	r.Body = slices.Clone(r.Body)
	r.Due, r.At = r.Due.Round(0), r.At.Round(0)
	return r
}

func copies(all []remind.Reminder) []remind.Reminder {
	out := make([]remind.Reminder, len(all))
	for i, r := range all {
		out[i] = copied(r)
	}
	return out
}
