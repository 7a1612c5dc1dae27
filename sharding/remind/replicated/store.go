package replicated

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Config says where a Store keeps its reminders. All is required.
type Config struct {
	Type      string              // the entity type's name
	Data      host.Data           // the replica of the users' data of its role
	Scheduler scheduler.Scheduler // by which calls wait
	// Write and Read are the levels of writes and reads. A read has to see what a write has
	// acknowledged: a majority each.
	Write, Read quorum.Level
}

// Store is a remind.Store in replicated data. Any goroutine may use it. Its calls wait by the
// Scheduler. It does not look at tokens.
type Store struct{ cfg Config }

var _ remind.Store = (*Store)(nil)

// New makes a Store.
func New(c Config) *Store { return &Store{c} }

// Watch implements remind.Store.
func (s *Store) Watch(fn func(shard protocol.ShardID, any bool)) (cancel func()) {
	prefix := keyPrefix(s.cfg.Type)
	return s.cfg.Data.Watch(prefix, func(key string, r crdt.Reader) {
		if shard, ok := shardOf(strings.TrimPrefix(key, prefix)); ok {
			fn(shard, !r.Empty())
		}
	})
}

// Due implements remind.Store.
func (s *Store) Due(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
) (due []remind.Reminder, next time.Time, err error) {
	t, r, err := s.read(ctx, shard)
	if err != nil {
		return nil, next, err
	}
	var damaged error // the first
	for entry := range entries(r, string(byTime)) {
		at, name, _ := readTime(entry)
		found, ok, err := lookUp(t, at, name)
		switch {
		case err != nil && !at.After(until):
			damaged = cmp.Or(damaged, err)
		case !ok: // it leads to nothing, or to what is damaged and not due
		case at.After(until) || len(due) == limit:
			return due, at, damaged
		default:
			due = append(due, found)
		}
	}
	return due, next, damaged
}

// Of implements remind.Store.
func (s *Store) Of(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) (own []remind.Reminder, err error) {
	t, r, err := s.read(ctx, shard)
	if err != nil {
		return nil, err
	}
	var damaged error // the first
	for name := range entries(r, entityPrefix(id)) {
		b, ok := t.Get(name)
		if !ok {
			continue
		}
		found, err := decode(name, b)
		if err != nil {
			damaged = cmp.Or(damaged, err)
			continue
		}
		own = append(own, found)
	}
	return own, damaged
}

// All implements remind.Store.
func (s *Store) All(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) (all []remind.Reminder, last remind.Key, err error) {
	t, r, err := s.read(ctx, shard)
	if err != nil {
		return nil, last, err
	}
	var damaged error // the first
	for entry := range entriesBehind(r, nameOf(after)) {
		b, ok := t.Get(entry)
		if !ok {
			continue
		}
		found, err := decode(entry, b)
		damaged = cmp.Or(damaged, err)
		if k, ok := readName(entry); ok {
			last = k
			limit--
		}
		if err == nil {
			all = append(all, found)
		}
		if limit == 0 {
			break
		}
	}
	return all, last, damaged
}

// Update implements remind.Store.
func (s *Store) Update(
	ctx context.Context, _ singleton.FencingToken, shard protocol.ShardID, _ uint64, changes []remind.Change,
) error {
	return s.await(ctx, func(limit time.Duration, done func(error)) {
		s.cfg.Data.Update(keyOf(s.cfg.Type, shard), s.cfg.Write, limit, func(tx *crdt.Tx) error {
			return change(tx, changes)
		}, done)
	})
}

func (s *Store) read(ctx context.Context, shard protocol.ShardID) (t table, r crdt.Reader, err error) {
	var got crdt.Reader // set before done is called
	err = s.await(ctx, func(limit time.Duration, done func(error)) {
		s.cfg.Data.Get(keyOf(s.cfg.Type, shard), s.cfg.Read, limit, func(v crdt.Reader, err error) {
			got = v
			done(err)
		})
	})
	if err != nil {
		return t, r, err
	}
	t, err = table{}.View(got)
	return t, got, err
}

// await makes a call and waits for its end, or that of ctx.
func (s *Store) await(ctx context.Context, call func(limit time.Duration, done func(error))) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limit := time.Duration(0) // as the node is configured
	if at, ok := ctx.Deadline(); ok {
		limit = max(1, at.Sub(s.cfg.Scheduler.Now()))
	}
	var err error
	over := make(chan struct{})
	call(limit, func(e error) {
		err = e
		close(over)
	})
	if s.cfg.Scheduler.Await(over, ctx.Done(), nil) == 1 {
		return ctx.Err()
	}
	return err
}
