package sharding

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// remembered carries out what the machines want of the ids of remembered entities in a store of the
// user's own.
type remembered struct {
	store remember.Store
	slots chan struct{} // one per call under way
}

// rememberedCalls is how many calls of one region are under way at a time.
const rememberedCalls = 64

func newRemembered(s remember.Store) *remembered {
	if s == nil {
		return nil
	}
	return &remembered{store: s, slots: make(chan struct{}, rememberedCalls)}
}

// of reports whether the ids are kept outside and this is a piece of them.
func (m *remembered) of(k protocol.StateKind) bool {
	return m != nil && (k == protocol.StateIDs || k == protocol.StateRemembered)
}

// call runs fn with a time limit, when it is its turn. A panic is an error like another: the
// machine repeats what failed.
func (m *remembered) call(ctx context.Context, limit time.Duration, fn func(context.Context) error) (err error) {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.slots }()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sharding: RememberStore panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return fn(ctx)
}

func (m *remembered) write(ctx context.Context, limit time.Duration, w protocol.StateWrite) error {
	what := "RememberStore.Update of shard " + w.Shard.String()
	if w.Kind == protocol.StateRemembered {
		what = "RememberStore.List"
	}
	return callError(what, m.call(ctx, limit, func(ctx context.Context) error {
		if w.Kind == protocol.StateRemembered {
			return m.store.List(ctx, w.AddShards, w.RemoveShards)
		}
		return m.store.Update(ctx, w.Shard, w.AddIDs, w.RemoveIDs)
	}))
}

func (m *remembered) read(ctx context.Context, limit time.Duration, r protocol.StateRead) protocol.DidRead {
	in := protocol.DidRead{ID: r.ID}
	what := "RememberStore.Load of shard " + r.Shard.String()
	if r.Kind == protocol.StateRemembered {
		what = "RememberStore.Shards"
	}
	in.Err = callError(what, m.call(ctx, limit, func(ctx context.Context) (err error) {
		if r.Kind == protocol.StateRemembered {
			in.Shards, err = m.store.Shards(ctx)
		} else {
			in.IDs, err = m.store.Load(ctx, r.Shard)
		}
		return err
	}))
	return in
}

// callError says which call of the store an error is of.
func callError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// watch tells shards that are hosted here of changes of their sets, if the store does.
func (c *control) watch() (cancel func()) {
	if c.remembered == nil {
		return func() {}
	}
	w, ok := c.remembered.store.(remember.Watcher)
	if !ok {
		return func() {}
	}
	return w.Watch(func(shard protocol.ShardID, in protocol.IDsChanged) {
		c.post(ctlInput{do: func(time.Time) {
			c.hosted(shard, func(h *hosting) { c.toShard(h.s, in) })
		}})
	})
}

// forwardsMax is how many entities are started elsewhere at a time.
const forwardsMax = 32

// forwardStart starts remembered entities whose ids belong to other shards now, and says which of
// them run.
func (c *control) forwardStart(ids []protocol.EntityID, done func([]protocol.EntityID)) {
	c.aside(func() {
		var mu sync.Mutex
		var started []protocol.EntityID
		var all sync.WaitGroup
		next := make(chan protocol.EntityID, len(ids))
		for _, id := range ids {
			next <- id
		}
		close(next)
		for range min(forwardsMax, len(ids)) {
			all.Go(func() {
				for id := range next {
					ctx, cancel := context.WithTimeout(c.ctx, c.r.askTimeout)
					_, err := c.r.startEntity(ctx, string(id))
					cancel()
					if err == nil {
						mu.Lock()
						started = append(started, id)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		done(started)
	})
}
