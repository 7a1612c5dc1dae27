package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane/reminders"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind/replicated"
)

// newReminders makes the reminders of the type; nil: its entities set none. A node whose region hosts
// nothing has some for its coordinator.
func newReminders(c *Plane, t Settings) *reminders.Reminders {
	if !t.Reminders.Enabled {
		return nil
	}
	q := c.State.Quorums
	if t.Reminders.Store == nil {
		t.Reminders.Store = replicated.New(replicated.Config{
			Type: c.R.Name, Data: t.UserData, Scheduler: c.R.Scheduler, Write: q.write(), Read: q.read(),
		})
	}
	return reminders.New(reminders.Config{
		Type: c.R.Name, Meter: t.Meter, Store: t.Reminders.Store, Settings: t.Reminders, Scheduler: c.R.Scheduler,
		Registry: c.R.Registry, ShardOf: c.R.Routes.ShardOf, Read: q.ReadTimeout, Write: q.WriteTimeout,
		Aside: c.Inbox.Aside, Context: c.Inbox.asides.ctx, Note: c.Inbox.Note, Defects: c.Cfg.Defects(),
	})
}

// watchReminders has the agendas and the coordinator of a node hear of changes of the reminders.
func watchReminders(r *reminders.Reminders, d *coordination) (cancel func()) {
	if r == nil {
		return func() {}
	}
	return r.Watch(func(shard protocol.ShardID, any bool) {
		r.Changed(shard)
		d.remindersChanged(shard, any)
	})
}

// reminded is what a coordination knows of the shards that have reminders.
type reminded struct {
	shards map[protocol.ShardID]bool
	told   bool // the machine that acts has heard of all
}

// remindersChanged tells the machine of a shard that has reminders, if it had none.
func (d *coordination) remindersChanged(shard protocol.ShardID, any bool) {
	d.Do(func(now time.Time) {
		known := d.reminded.shards
		switch {
		case any == known[shard]:
		case !any:
			delete(known, shard)
		default:
			known[shard] = true
			d.startReminded(now, shard)
		}
	})
}

// noteReminded tells a machine that acts now of all shards that have reminders.
func (d *coordination) noteReminded() {
	acts := d.m.Acts()
	if acts == d.reminded.told {
		return
	}
	if d.reminded.told = acts; acts && len(d.reminded.shards) > 0 {
		d.Do(func(now time.Time) {
			d.startReminded(now, slices.Sorted(maps.Keys(d.reminded.shards))...)
		})
	}
}

// startReminded has shards started that live nowhere. Those beyond the number of shards are not the
// type's any more.
func (d *coordination) startReminded(now time.Time, shards ...protocol.ShardID) {
	var own []protocol.ShardID
	for _, s := range shards {
		if int(s) < d.shards {
			own = append(own, s)
			continue
		}
		d.notices.notify(protocol.Event{
			Kind: protocol.ReminderStranded, Shard: s,
			Text: fmt.Sprintf("the type has %d shards now, and had more when the reminders were stored", d.shards),
		})
	}
	if len(own) > 0 {
		d.Step(now, coordInput{in: protocol.RememberedChanged{Shards: own}})
	}
}
