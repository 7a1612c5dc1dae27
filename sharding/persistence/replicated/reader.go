package replicated

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

const (
	readersMax = 16               // shards that a query reads at one time
	outageMax  = 30 * time.Second // for which a live query waits for the lease of its node
)

// Events implements persistence.Reader. It reads the shards of the type one after the other. Events
// of two shards have no order between them.
func (s *Store) Events(ctx context.Context, q persistence.Query) iter.Seq2[persistence.Recorded, error] {
	return func(yield func(persistence.Recorded, error) bool) {
		r := &reading{store: s, query: q, yield: yield, known: map[protocol.ShardID]view{}}
		err := r.run(ctx)
		if err == nil || errors.Is(err, errEnough) || q.Live && ctx.Err() != nil {
			return
		}
		yield(persistence.Recorded{}, err)
	}
}

// errEnough says that the caller has seen enough.
var errEnough = errors.New("enough")

// reading is a query on its way.
// Invariant: at has what was yielded or does not fit the query, and nothing after that.
type reading struct {
	store *Store
	query persistence.Query
	yield func(persistence.Recorded, error) bool
	at    offset
	known map[protocol.ShardID]view // of a live query: the views up to at
}

func (r *reading) run(ctx context.Context) (err error) {
	if err := r.query.Check(); err != nil {
		return err
	}
	if r.at, err = parseOffset(r.query.After); err != nil {
		return err
	}
	var n *news
	if r.query.Live {
		n = r.store.watch(ctx, r.query.Type)
		defer n.end()
	}
	shards, err := r.store.listed(ctx, r.query.Type)
	for err == nil {
		if err = r.pass(ctx, shards); err != nil || n == nil {
			break
		}
		shards, err = n.next(ctx, r.known)
	}
	return err
}

// pass yields what shards have after what was yielded.
func (r *reading) pass(ctx context.Context, shards []protocol.ShardID) error {
	for some := range slices.Chunk(shards, readersMax) {
		views, errs := make([]view, len(some)), make([]error, len(some))
		var all sync.WaitGroup
		for i, shard := range some {
			all.Go(func() { views[i], errs[i] = r.settled(ctx, shard) })
		}
		all.Wait()
		for i, shard := range some {
			if errs[i] != nil {
				return errs[i]
			}
			if err := r.shard(ctx, shard, views[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled reads a shard. A live query waits while its node has no lease.
func (r *reading) settled(ctx context.Context, shard protocol.ShardID) (view, error) {
	h := persistence.Hosting{Type: r.query.Type, Shard: shard}
	sh := r.store.shard(keyOf(h))
	if r.store.planted.openReads {
		return sh.read(ctx, ddata.ReadLocal)
	}
	since := time.Now()
	for pause := retryMin; ; pause = min(2*pause, retryMax) {
		v, err := sh.settled(ctx, h)
		if !r.query.Live || !errors.Is(err, ddata.ErrNoLease) || time.Since(since) > outageMax {
			return v, err
		}
		if wait(ctx, pause) != nil {
			return v, err
		}
	}
}

// shard yields what a view of a shard has after what was yielded.
func (r *reading) shard(ctx context.Context, shard protocol.ShardID, v view) error {
	i := r.at.of(shard)
	from := r.at[i].at
	if r.store.planted.noNumbers {
		from.number = 0
	}
	if from.compare(v.end()) > 0 {
		return fmt.Errorf("replicated: the offset is at %d-%d of shard %v of %q, and that ends at %d-%d: "+
			"the store has lost what was there, or the offset is of another one; read from the first event",
			from.number, from.seq, shard, r.query.Type, v.end().number, v.end().seq)
	}
	found, err := r.find(v, r.known[shard], from)
	if err != nil {
		return err
	}
	before, after := r.at.around(i)
	for _, f := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := eventOf(v.r, f.item)
		if err != nil {
			e, err = persistence.Event{Seq: f.seq}, fmt.Errorf("entity %v, event %d: %w", f.id, f.seq, err)
			if !errors.Is(err, persistence.ErrDamaged) {
				return err
			}
		} else if r.query.Tag != "" && !slices.Contains(e.Tags, r.query.Tag) {
			continue
		}
		r.at[i].move(f.at)
		if !r.yield(persistence.Recorded{
			Entity: f.id, Event: e, Offset: persistence.Offset(before + r.at[i].text + after),
		}, err) {
			return errEnough
		}
	}
	if r.at[i].move(v.end()); r.query.Live {
		r.known[shard] = v
	}
	return nil
}

// foundEvent is an event that a query may yield.
type foundEvent struct {
	eventPath
	item *crdt.Item
	at   place
}

// find returns the events of the query's slices after a place, in the order of their places. What an
// earlier view has is not looked at.
func (r *reading) find(v, earlier view, from place) (out []foundEvent, err error) {
	var h history // of the entity at hand
	var of protocol.EntityID
	for it := range added(earlier.r, v.r) {
		e, ok := asEvent(it.Path)
		if !ok {
			continue
		}
		if !r.query.HasSlice(persistence.SliceOf(string(e.id))) {
			continue
		}
		at, ok := v.place(it.Dot)
		if r.store.planted.noNumbers {
			at.number = 0
		}
		if !ok || at.compare(from) <= 0 {
			continue
		}
		if h.path == "" || of != e.id {
			if h, err = historyOf(v, e.id); err != nil {
				return nil, err
			}
			of = e.id
		}
		if e.seq > h.deleted.number {
			out = append(out, foundEvent{eventPath: e, item: it, at: at})
		}
	}
	slices.SortFunc(out, func(a, b foundEvent) int { return a.at.compare(b.at) })
	return out, nil
}

// added yields the items that a later state has and an earlier one has not, by path. It costs what
// has changed between.
func added(before, now crdt.Reader) iter.Seq[*crdt.Item] {
	if before.Empty() {
		return now.Items(entities)
	}
	return func(yield func(*crdt.Item) bool) {
		for it, isNew := range crdt.Diff(before, now) {
			if isNew && !yield(it) {
				return
			}
		}
	}
}
