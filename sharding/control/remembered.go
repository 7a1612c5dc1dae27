package control

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/outside"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// remembered carries out what the machines want of the ids of remembered entities in a store of the
// user's own.
type remembered struct {
	store remember.Store
	calls outside.Calls
}

func newRemembered(s remember.Store, sched scheduler.Scheduler) *remembered {
	if s == nil {
		return nil
	}
	if on, ok := s.(remember.Scheduled); ok {
		s = on.On(sched)
	}
	return &remembered{s, outside.New("remember.Store", sched)}
}

// of reports whether the ids are kept outside and this is a piece of them.
func (m *remembered) of(k protocol.StateKind) bool {
	return m != nil && (k == protocol.StateIDs || k == protocol.StateRemembered)
}

func (m *remembered) write(ctx context.Context, limit time.Duration, w protocol.StateWrite) error {
	what := "remember.Store.Update of shard " + w.Shard.String()
	if w.Kind == protocol.StateRemembered {
		what = "remember.Store.List"
	}
	return callError(what, m.calls.InTurn(ctx, limit, func(ctx context.Context) error {
		if w.Kind == protocol.StateRemembered {
			return m.store.List(ctx, w.By, w.AddShards, w.RemoveShards)
		}
		return m.store.Update(ctx, w.By, w.Shard, w.AddIDs, w.RemoveIDs)
	}))
}

func (m *remembered) read(ctx context.Context, limit time.Duration, r protocol.StateRead) protocol.DidRead {
	in := protocol.DidRead{ID: r.ID}
	what := "remember.Store.Load of shard " + r.Shard.String()
	if r.Kind == protocol.StateRemembered {
		what = "remember.Store.Shards"
	}
	in.Err = callError(what, m.calls.InTurn(ctx, limit, func(ctx context.Context) (err error) {
		if r.Kind == protocol.StateRemembered {
			in.Shards, err = m.store.Shards(ctx, r.By)
		} else {
			in.IDs, err = m.store.Load(ctx, r.By, r.Shard)
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
	_ = m.calls.Protect(ctx, cutLimit, func(ctx context.Context) error { // it logs what fails
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
