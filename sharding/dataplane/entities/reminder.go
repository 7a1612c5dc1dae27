package entities

import (
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Reminder is one that has come. In a mailbox it stands in an envelope with mailbox.ReminderCall.
type Reminder struct {
	remind.Reminder
	Missed uint64 // turns that have passed since Due, beside this one
	// Open decodes the message.
	Open func() (any, error)
	// Handled says, once, that its handler has come to its end, and how it has failed. It does not wait.
	Handled func(error)
}

// Reminder is the one that is being handled; nil: none. It is for the handler's goroutine.
func (h *Handler) Reminder() *Reminder {
	if x := h.Entity.Extra.Load(); x != nil {
		return x.reminder
	}
	return nil
}

// take makes a told message of a reminder that an entity handles now; false: that cannot be decoded,
// which is no failure of the entity.
func (m *Reminder) take(e *Entity) (env mailbox.Envelope, ok bool) {
	msg, err := m.Open()
	if err != nil {
		m.Handled(err)
		return env, false
	}
	e.extras().reminder = m
	return mailbox.Envelope{Msg: msg}, true
}

// endMessage notes that the message at hand has come to its end, or to its failure. x may be nil.
func (x *extra) endMessage(err error) {
	if x != nil {
		x.endSpan(err)
		x.endReminder(err)
	}
}

// endReminder says that the reminder at hand, if there is one, has come to its end.
func (x *extra) endReminder(err error) {
	if x.reminder == nil {
		return
	}
	m := x.reminder
	x.reminder = nil
	m.Handled(err)
}

// failed answers a message whose incarnation could not be made.
func (r *Runtime) failed(env mailbox.Envelope, err error) {
	if m, is := env.Msg.(*Reminder); is && env.Call == mailbox.ReminderCall {
		m.Handled(err)
		return
	}
	r.set.Fail(env, err)
}
