package lmdb

import (
	"context"
	"sync"

	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// turns lets one writing call of each shard in at a time. A call keeps its turn until its last
// commit is answered, also when its caller is gone: so each call finds committed what was before.
type turns struct {
	mu     sync.Mutex
	places map[place]*turn
}

type place struct {
	typ   string
	shard protocol.ShardID
}

// turn is the turn of a shard.
type turn struct {
	taken chan struct{} // of size 1
	calls int           // that have it or wait for it; guarded by turns.mu
}

// take waits for the turn of a shard, and returns the function that gives it back.
func (ts *turns) take(ctx context.Context, h persistence.Hosting) (giveBack func(), err error) {
	at := place{h.Type, h.Shard}
	ts.mu.Lock()
	if ts.places == nil {
		ts.places = map[place]*turn{}
	}
	t := ts.places[at]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		ts.places[at] = t
	}
	t.calls++
	ts.mu.Unlock()
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; ts.leave(at, t) }, nil
	case <-ctx.Done():
		ts.leave(at, t)
		return nil, ctx.Err()
	}
}

func (ts *turns) leave(at place, t *turn) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t.calls--; t.calls == 0 {
		delete(ts.places, at)
	}
}

// batchBytes is the size from which a call goes on with another commit.
const batchBytes = 8 << 20

// batch is the rows of one commit.
type batch struct {
	rows   []durable.Row
	bytes  int
	events []pending
}

func (b *batch) add(row durable.Row) {
	b.rows = append(b.rows, row)
	b.bytes += len(row.Key) + len(row.Value)
}

func (b *batch) put(key, value []byte) { b.add(durable.Row{Key: key, Value: value}) }

func (b *batch) remove(key []byte) { b.add(durable.Row{Key: key}) }

// write takes the turn of a shard, and commits what fn puts into batches, until it reports that
// there is no more. fn sees all earlier commits of the shard.
func (s *Store) write(
	ctx context.Context, h persistence.Hosting, fn func(*disk.Moment, *batch) (more bool, err error),
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	giveBack, err := s.turns.take(ctx, h)
	if err != nil {
		return err
	}
	for more := true; more; {
		var b batch
		if err = s.read(ctx, h, func(v *disk.Moment) (err error) {
			more, err = fn(v, &b)
			return err
		}); err != nil {
			break
		}
		if len(b.rows) == 0 {
			continue
		}
		var gone bool
		if gone, err = s.commit(ctx, &b, giveBack); gone {
			return err
		}
		if err != nil {
			break
		}
	}
	giveBack()
	return fault(err)
}

// commit waits for a batch to be on the disk. When the context ends before, the caller is gone, and
// the answer calls later.
func (s *Store) commit(ctx context.Context, b *batch, later func()) (gone bool, err error) {
	var mu sync.Mutex
	left := false
	answer := make(chan error, 1)
	s.feed.commit(b, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		answer <- err
		if left {
			later()
		}
	})
	select {
	case err := <-answer:
		return false, err
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	select {
	case err := <-answer:
		return false, err
	default:
		left = true
		return true, ctx.Err()
	}
}
