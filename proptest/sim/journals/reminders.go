package journals

import (
	"context"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
	"github.com/coterie-go/coterie/sharding/remind/rehash"
)

// KeptReminders are those that all doors share.
type KeptReminders struct {
	store      memory.Store
	complain   func(check, format string, args ...any)
	latest     map[protocol.ShardID]singleton.FencingToken // of the calls that took effect; only looked up
	numbers    map[remindersHosting]uint64                 // of the last update that was begun; only looked up
	anyHosting bool                                        // planted, as anyOrder
	anyOrder   bool
}

// remindersHosting is a hosting of a shard of them.
type remindersHosting struct {
	shard protocol.ShardID
	by    singleton.FencingToken
}

// NewReminders makes some that complain to a function of a call without a token, of a hosting that is over and
// changes something, and of one that gives two updates one number, or a later one a lower one. Of the defects
// AnyHosting and AnyOrder count.
func NewReminders(d Defects, complain func(check, format string, args ...any)) *KeptReminders {
	return &KeptReminders{
		complain: complain, latest: map[protocol.ShardID]singleton.FencingToken{},
		numbers: map[remindersHosting]uint64{}, anyHosting: d.AnyHosting, anyOrder: d.AnyOrder,
	}
}

// Recorded reports whether there is a record of how the reminders lie in shards.
func (k *KeptReminders) Recorded() bool {
	all, _, err := k.store.All(context.Background(), singleton.FencingToken{}, rehash.RecordShard, remind.Key{}, 1)
	return err == nil && len(all) > 0
}

// by is the token that the store is told.
func (k *KeptReminders) by(token singleton.FencingToken) singleton.FencingToken {
	if k.anyHosting {
		return singleton.FencingToken{}
	}
	return token
}

// begins notes an update that a hosting begins.
func (k *KeptReminders) begins(h remindersHosting, number uint64) {
	if last := k.numbers[h]; number <= last {
		k.complain("a hosting numbers its updates", "%d of shard %v by %v comes after %d", number, h.shard, h.by, last)
	}
	k.numbers[h] = number
}

// took notes a call that took effect, and reports whether it is the first one of its hosting.
func (k *KeptReminders) took(call string, by singleton.FencingToken, shard protocol.ShardID) (first bool) {
	switch latest := k.latest[shard]; {
	case by.IsZero() && shard == rehash.RecordShard && call == "Of": // which each node reads
	case by.IsZero():
		k.complain("each call of reminders has a token", "%s of shard %v has none", call, shard)
	case by.Less(latest):
		k.complain("a hosting that is over changes no reminder", "%s of shard %v by %v, after %v", call, shard, by,
			latest)
	case latest.Less(by):
		k.latest[shard] = by
		return true
	}
	return false
}

// Reminders are a remind.Store behind a Door: its calls meet what those of the journal do.
type Reminders struct {
	d    *Door
	kept *KeptReminders
}

// remindersType is the type of their hostings.
const remindersType = "reminders"

// call takes a call to the store and back.
func (r Reminders) call(
	ctx context.Context, name string, by singleton.FencingToken, shard protocol.ShardID, effect func(part bool) error,
	done func(),
) error {
	h := persistence.Hosting{Type: remindersType, Shard: shard, Token: by}
	return r.d.call(ctx, name, h, func(part bool) error {
		err := effect(part)
		if err != nil {
			return r.d.s.refused(err)
		}
		if r.kept.took(name, by, shard) {
			r.d.s.succeeded(h)
		}
		return nil
	}, done)
}

var _ remind.Store = Reminders{}

// watchMost is how late a process hears of a change.
const watchMost = 200 * time.Millisecond

// Reminders is what the process behind the Door uses of reminders that all doors share.
func (d *Door) Reminders(kept *KeptReminders) Reminders { return Reminders{d, kept} }

// Due implements remind.Store.
func (r Reminders) Due(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
) (due []remind.Reminder, next time.Time, err error) {
	var at time.Time
	var got []remind.Reminder
	err = r.call(ctx, "Due", by, shard, func(bool) (err error) {
		got, at, err = r.kept.store.Due(context.Background(), r.kept.by(by), shard, until, limit)
		return err
	}, func() { due, next = got, at })
	return due, next, err
}

// Of implements remind.Store.
func (r Reminders) Of(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) (own []remind.Reminder, err error) {
	var got []remind.Reminder
	err = r.call(ctx, "Of", by, shard, func(bool) (err error) {
		got, err = r.kept.store.Of(context.Background(), r.kept.by(by), shard, id)
		return err
	}, func() { own = got })
	return own, err
}

// All implements remind.Store.
func (r Reminders) All(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) (all []remind.Reminder, last remind.Key, err error) {
	var got []remind.Reminder
	var key remind.Key
	err = r.call(ctx, "All", by, shard, func(bool) (err error) {
		got, key, err = r.kept.store.All(context.Background(), r.kept.by(by), shard, after, limit)
		return err
	}, func() { all, last = got, key })
	return all, last, err
}

// Update implements remind.Store.
func (r Reminders) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	own := slices.Clone(changes)
	r.kept.begins(remindersHosting{shard, by}, number)
	return r.call(ctx, "Update", by, shard, func(part bool) error {
		if part {
			own = own[:r.d.s.rng.IntN(len(own)+1)]
		}
		if r.kept.anyOrder {
			number = 1
		}
		return r.kept.store.Update(context.Background(), r.kept.by(by), shard, number, own)
	}, nil)
}

// Watch implements remind.Store. The process hears late of changes.
func (r Reminders) Watch(fn func(protocol.ShardID, bool)) (cancel func()) {
	d, over, latest := r.d, false, map[protocol.ShardID]bool{}
	stop := r.kept.store.Watch(func(shard protocol.ShardID, any bool) {
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
