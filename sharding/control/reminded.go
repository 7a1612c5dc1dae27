package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/dataplane/reminders"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind/rehash"
	"github.com/coterie-go/coterie/sharding/remind/replicated"
)

// newReminders makes the reminders of the type; nil: its entities set none. A node whose region hosts
// nothing has some for its coordinator, which moves them if Shards or ShardOf has changed.
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
	layout := rehash.Layout{Shards: c.Cfg.Shards, ShardOf: c.Cfg.ShardOf.Name}
	writes := func() bool { return view.Writes(c.R.Cluster.View(), format.Headers) }
	c.Coord.reminded.writes = writes
	c.Coord.reminded.mover = rehash.NewMover(rehash.Config{
		Store: t.Reminders.Store, Layout: layout, ShardOf: c.Cfg.Shard, Scheduler: c.R.Scheduler,
		Read: q.ReadTimeout, Write: q.WriteTimeout, Writes: writes,
		Damaged: func(shard protocol.ShardID, err error) {
			c.Inbox.Note(protocol.Event{Kind: protocol.ReminderDamaged, Shard: shard, Text: err.Error()})
		},
		Moved: func(count int) { c.Inbox.Note(protocol.Event{Kind: protocol.RemindersMoved, Count: count}) },
		Stranded: func(shards []protocol.ShardID) {
			c.Inbox.Note(protocol.Event{
				Kind: protocol.ReminderStranded, Shard: shards[0], Count: len(shards),
				Text: fmt.Sprintf("reminders are stored in shards beyond %v: Shards was changed before the store "+
					"had a record of its layout", layout),
			})
		},
		Failing: func(err error) {
			if err == nil {
				c.Inbox.Note(protocol.Event{Kind: protocol.RemindersResumed})
				return
			}
			c.Inbox.Note(protocol.Event{
				Kind: protocol.RemindersFailed, Text: fmt.Sprintf("none is moved to the shard of its entity: %v", err),
			})
		},
	})
	if !c.Cfg.Planted(defect.RemindsUnmoved) {
		t.Reminders.Store = rehash.NewGate(rehash.GateConfig{
			Store: t.Reminders.Store, Layout: layout, Scheduler: c.R.Scheduler, Writes: writes,
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
	return d.reminded.mover.Watch(func(shard protocol.ShardID, any bool) {
		r.Changed(shard)
		d.remindersChanged(shard, any)
	})
}

// reminded is what a coordination knows of reminders.
type reminded struct {
	shards map[protocol.ShardID]bool // that have some
	told   bool                      // the machine that acts has heard of all
	mover  *rehash.Mover             // nil: entities of the type set no reminders
	stop   context.CancelFunc        // ends a move; nil: none was begun
	writes func() bool               // all nodes know of the record of the layout
	wrote  bool                      // the mover has heard that they do
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

// noteReminded tells a machine that acts now of all shards that have reminders, and has those moved that are
// not in the shards of their entities.
func (d *coordination) noteReminded() {
	r := &d.reminded
	if r.mover == nil {
		return
	}
	if !r.wrote && r.writes() {
		r.wrote = true
		r.mover.LookAgain()
	}
	acts := d.m.Acts()
	if acts == r.told {
		return
	}
	if r.stop != nil {
		r.stop()
	}
	if r.told = acts; !acts {
		return
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(d.state.Asides.ctx)
	term, before := d.m.Term()
	d.state.Asides.run(func() { r.mover.Keep(ctx, term, before) })
	if len(r.shards) > 0 {
		d.Do(func(now time.Time) { d.startReminded(now, slices.Sorted(maps.Keys(r.shards))...) })
	}
}

// startReminded has shards started that live nowhere.
func (d *coordination) startReminded(now time.Time, shards ...protocol.ShardID) {
	d.Step(now, coordInput{in: protocol.RememberedChanged{Shards: shards}})
}
