package remind

import "errors"

// Errors of a reminder that is set. It is not stored.
var (
	// ErrInvalid: the reminder breaks a rule: its name, its time, its period, or the size of its
	// message.
	ErrInvalid = errors.New("sharding: invalid reminder")
	// ErrTooMany: the entity has as many reminders as it may have, or too many changes wait for the
	// store.
	ErrTooMany = errors.New("sharding: too many reminders")
)

// ErrDamaged: what was read is not what was written. No repetition helps: a person has to look at
// it.
var ErrDamaged = errors.New("sharding: a stored reminder is damaged")
