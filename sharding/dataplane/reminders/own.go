package reminders

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/agenda"
)

// What the handlers of an entity do with its own reminders. The calls wait for the store, and are for
// the goroutine of the handler. Only one handler of an entity runs, so what is read stays so until it
// is written, except what comes to its end meanwhile.

// Set stores a reminder of the handler's entity, in place of that of its name. Damaged ones do not hinder
// it. The store does not say how many they are, so they do not count towards EntityMax.
func (r *Reminders) Set(h *entities.Handler, name string, due time.Time, every time.Duration, msg any) error {
	body, err := r.encode(msg)
	if err != nil {
		return err
	}
	due = due.Round(0)
	random := r.cfg.Scheduler.Uint64()
	m := remind.Reminder{
		Entity: protocol.EntityID(h.Entity.ID), Name: name, Due: due, At: due, Every: every, Body: body,
	}
	if err := m.Check(); err != nil {
		return err
	}
	own, err := r.List(h)
	if err != nil && !errors.Is(err, remind.ErrDamaged) {
		return err
	}
	replaced := slices.IndexFunc(own, func(o remind.Reminder) bool { return o.Name == name })
	if most := r.cfg.Settings.EntityMax; len(own) >= most && replaced < 0 {
		return fmt.Errorf("%w: %v has %d, and may have %d (Reminders.EntityMax)", remind.ErrTooMany, m.Entity, len(own),
			most)
	}
	var before uint64
	if replaced >= 0 {
		before = own[replaced].Version
	}
	m.Version = versionAfter(before, r.cfg.Scheduler.Now(), random)
	return r.change(h, remind.Change{Reminder: m})
}

// randomBits are those of a version that tell apart what is set at one time.
const randomBits = 20

// versionAfter is the version of a reminder that is set now: its time, in nanoseconds since 1970, or more. It is above
// that of the reminder which it replaces and of the next turns of that one, each of which has the next version.
func versionAfter(replaced uint64, now time.Time, random uint64) uint64 {
	const unit = 1 << randomBits
	return max(uint64(now.UnixNano()), replaced+2*unit)&^(unit-1) | random&(unit-1) | 1
}

// Cancel takes a reminder of the handler's entity away, if there is one of the name.
func (r *Reminders) Cancel(h *entities.Handler, name string) error {
	return r.change(h, remind.Change{
		Reminder: remind.Reminder{Entity: protocol.EntityID(h.Entity.ID), Name: name}, Remove: true,
	})
}

// List is the reminders of the handler's entity, by name. remind.ErrDamaged comes with those that can be read.
func (r *Reminders) List(h *entities.Handler) (own []remind.Reminder, err error) {
	h.Block()
	defer h.Unblock()
	s := h.Entity.Shard
	err = r.c.InTurn(h, r.cfg.Read, func(ctx context.Context) (err error) {
		own, err = r.cfg.Store.Of(ctx, s.Fence(), protocol.ShardID(s.Number), protocol.EntityID(h.Entity.ID))
		return err
	})
	if errors.Is(err, remind.ErrFenced) {
		r.put(s, agenda.Fenced{Err: err})
	}
	return own, err
}

// change has the agenda of the shard make a change, and waits until it is stored.
func (r *Reminders) change(h *entities.Handler, c remind.Change) error {
	h.Block()
	defer h.Unblock()
	q := r.ask(h.Entity.Shard, c)
	switch r.cfg.Scheduler.Await(q.answered, h.Done(), r.loop.Stopped()) {
	case 0:
		return q.err
	case 1:
		return fmt.Errorf("%w: the reminder may be changed or not", context.Cause(h))
	}
	return errShardEnded
}
