package sharding

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/reminders"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Reminder is one that an entity has set.
type Reminder struct {
	Name  string
	Due   time.Time     // what it was set for; of one that repeats, the time of its next turn
	Every time.Duration // its period; 0: it comes once
	Tries int           // how many handlers have failed with this turn
	// Missed is how many further turns have passed unhandled while the cluster was down or busy, or while
	// the handler of the turn before ran. They do not come. Of a reminder that is at hand only.
	Missed uint64
}

func reminderOf(r remind.Reminder, missed uint64) Reminder {
	return Reminder{r.Name, r.Due, r.Every, int(r.Tries), missed}
}

// Reminding is what a Context has of the reminders of its entity. Its methods are the Context's:
// c.Remind(name, at, msg).
type Reminding[M any] struct {
	handler entities.Handler
	r       *Region[M]
}

// Remind has this entity handle msg at a time, as a message like others: it wakes an entity that was
// passivated, and keeps one from being so. It survives passivation, moves, and a stop of all nodes. A
// second reminder of the name takes the place of the first. What was due while no node ran comes when
// one does. msg must be of a registered type.
//
// A reminder comes at least once: it is taken off after its handler has returned without an error. If
// the handler fails, whatever Supervision decides, the reminder comes again after a pause that grows
// (EntityType.Reminders). It may come twice when a node dies, or when the store takes no writes while the
// shard moves. A message that a node cannot decode counts as a failure. If Identity.Shards or ShardOf
// were changed while all nodes were stopped, reminders are moved to the shards of their entities first. Calls wait for
// that for two seconds, and fail with ErrRemindersMoving if it takes longer.
//
// A damaged reminder of the entity, which the store cannot read, does not hinder Remind and does not count
// towards EntityMax. Remind or CancelReminder of its name ends the damage.
//
// Remind returns when the reminder is stored: a read and a write of the store later. It takes a worker
// meanwhile. After an error it may be stored or not.
//
// Errors: those of the effects of a Context; ErrConfig without EntityType.Reminders.Enabled;
// ErrInvalidReminder, ErrTooManyReminders, ErrUnregisteredMessage, ErrEncoding; ErrStopped; the store's.
func (c *Reminding[M]) Remind(name string, at time.Time, msg M) error {
	return c.setReminder(name, at, 0, msg)
}

// RemindEvery is Remind for a message that comes again and again: first at a time, and then after each
// period, of at least 10 ms, until CancelReminder. Turns that have passed before the message is handled
// do not come one by one: Reminder.Missed counts them.
func (c *Reminding[M]) RemindEvery(name string, first time.Time, every time.Duration, msg M) error {
	if every <= 0 {
		return fmt.Errorf("%w %q: its period is %v", ErrInvalidReminder, name, every)
	}
	return c.setReminder(name, first, every, msg)
}

func (c *Reminding[M]) setReminder(name string, at time.Time, every time.Duration, msg M) error {
	r, err := c.reminders()
	if err != nil {
		return err
	}
	return r.Set(&c.handler, name, at, every, msg)
}

// CancelReminder takes a reminder of this entity away, if there is one of the name. It returns when that
// is stored. A message that waits in the mailbox already is handled all the same.
//
// Errors: as Remind.
func (c *Reminding[M]) CancelReminder(name string) error {
	r, err := c.reminders()
	if err != nil {
		return err
	}
	return r.Cancel(&c.handler, name)
}

// Reminders lists the reminders of this entity, by name. It waits for the store.
//
// Errors: as Remind. With remind.ErrDamaged come the reminders that can be read. The error names one that
// cannot: CancelReminder of that name takes it away.
func (c *Reminding[M]) Reminders() ([]Reminder, error) {
	r, err := c.reminders()
	if err != nil {
		return nil, err
	}
	own, err := r.List(&c.handler)
	if err != nil && !errors.Is(err, remind.ErrDamaged) {
		return nil, err
	}
	all := make([]Reminder, len(own))
	for i, m := range own {
		all[i] = reminderOf(m, 0)
	}
	return all, err
}

// Reminder is the one whose message is being handled; false: the message is none of a reminder. It is
// for the handler's goroutine.
func (c *Reminding[M]) Reminder() (Reminder, bool) {
	m := c.handler.Reminder()
	if m == nil {
		return Reminder{}, false
	}
	return reminderOf(m.Reminder, m.Missed), true
}

// reminders are those of the type, if a handler may have an effect.
func (c *Reminding[M]) reminders() (*reminders.Reminders, error) {
	if err := c.handler.Refused(); err != nil {
		return nil, err
	}
	r := c.r.run.control.Reminders
	if r == nil {
		return nil, fmt.Errorf("%w %q: its entities set no reminders: EntityType.Reminders.Enabled is not set",
			ErrConfig, c.r.plane.Name)
	}
	return r, nil
}
