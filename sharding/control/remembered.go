package control

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// remembered carries out what the machines want of the ids of remembered entities in a store of the
// user's own.
type remembered struct {
	store     remember.Store
	slots     chan struct{} // one token for each call that may begin
	scheduler scheduler.Scheduler
}

// rememberedCalls is how many calls of one region are under way at a time.
const rememberedCalls = 64

func newRemembered(s remember.Store, sched scheduler.Scheduler) *remembered {
	if s == nil {
		return nil
	}
	if on, ok := s.(remember.Scheduled); ok {
		s = on.On(sched)
	}
	m := &remembered{store: s, slots: make(chan struct{}, rememberedCalls), scheduler: sched}
	for range rememberedCalls {
		m.slots <- struct{}{}
	}
	return m
}

// of reports whether the ids are kept outside and this is a piece of them.
func (m *remembered) of(k protocol.StateKind) bool {
	return m != nil && (k == protocol.StateIDs || k == protocol.StateRemembered)
}

// call runs fn with a time limit, when it is its turn. A panic is an error like another: the
// machine repeats what failed.
func (m *remembered) call(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	if m.scheduler.Await(m.slots, ctx.Done(), nil) == 1 {
		return ctx.Err()
	}
	defer func() { m.slots <- struct{}{} }()
	return m.protect(ctx, limit, fn)
}

// protect runs fn with a time limit. A panic is an error.
func (m *remembered) protect(ctx context.Context, limit time.Duration, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sharding: remember.Store panicked: %v", p)
		}
	}()
	ctx, cancel := m.scheduler.WithTimeout(ctx, limit)
	defer cancel()
	return fn(ctx)
}

func (m *remembered) write(ctx context.Context, limit time.Duration, w protocol.StateWrite) error {
	what := "remember.Store.Update of shard " + w.Shard.String()
	if w.Kind == protocol.StateRemembered {
		what = "remember.Store.List"
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
	what := "remember.Store.Load of shard " + r.Shard.String()
	if r.Kind == protocol.StateRemembered {
		what = "remember.Store.Shards"
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

// tidy does what the store has to do beside its calls. No call waits for it.
func (m *remembered) tidy(ctx context.Context) {
	t, ok := m.store.(remember.Tidier)
	if !ok {
		return
	}
	_ = m.protect(ctx, cutLimit, func(ctx context.Context) error { // it logs what fails
		t.Tidy(ctx)
		return nil
	})
}

// callError says which call of the store an error is of.
func callError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// watch passes changes of the sets on, if the store tells of them.
func (m *remembered) watch(changed func(protocol.ShardID, protocol.IDsChanged)) (cancel func()) {
	w, ok := m.store.(remember.Watcher)
	if !ok {
		return func() {}
	}
	return w.Watch(changed)
}
