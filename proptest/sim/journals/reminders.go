package journals

import (
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// Reminders are a remind.Store behind a Door: its calls meet what those of the journal do.
type Reminders struct {
	d    *Door
	kept *memory.Store
}

var _ remind.Store = Reminders{}

// watchMost is how late a process hears of a change.
const watchMost = 200 * time.Millisecond

// Reminders is what the process behind the Door uses of reminders that all doors share.
func (d *Door) Reminders(kept *memory.Store) Reminders { return Reminders{d, kept} }

// Due implements remind.Store.
func (r Reminders) Due(ctx context.Context, shard protocol.ShardID, until time.Time, limit int,
) (due []remind.Reminder, next time.Time, err error) {
	var at time.Time
	var got []remind.Reminder
	err = r.d.call(ctx, "Due", persistence.Hosting{}, func(bool) (err error) {
		got, at, err = r.kept.Due(context.Background(), shard, until, limit)
		return err
	}, func() { due, next = got, at })
	return due, next, err
}

// Of implements remind.Store.
func (r Reminders) Of(ctx context.Context, shard protocol.ShardID, id protocol.EntityID,
) (own []remind.Reminder, err error) {
	var got []remind.Reminder
	err = r.d.call(ctx, "Of", persistence.Hosting{}, func(bool) (err error) {
		got, err = r.kept.Of(context.Background(), shard, id)
		return err
	}, func() { own = got })
	return own, err
}

// Update implements remind.Store.
func (r Reminders) Update(ctx context.Context, shard protocol.ShardID, changes []remind.Change) error {
	own := slices.Clone(changes)
	return r.d.call(ctx, "Update", persistence.Hosting{}, func(part bool) error {
		if part {
			own = own[:r.d.s.rng.IntN(len(own)+1)]
		}
		return r.kept.Update(context.Background(), shard, own)
	}, nil)
}

// Watch implements remind.Store. The process hears late of changes.
func (r Reminders) Watch(fn func(protocol.ShardID, bool)) (cancel func()) {
	d, over, latest := r.d, false, map[protocol.ShardID]bool{}
	stop := r.kept.Watch(func(shard protocol.ShardID, any bool) {
		latest[shard] = any
		d.s.w.After(time.Duration(d.s.rng.Int64N(int64(watchMost))), d.p, func() {
			if !over {
				d.p.Enter(func() { fn(shard, latest[shard]) })
			}
		})
	})
	return func() {
		over = true
		stop()
	}
}
