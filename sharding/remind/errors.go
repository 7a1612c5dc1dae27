package remind

import (
	"errors"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Errors of a reminder that is set. It is not stored.
var (
	// ErrInvalid: the reminder breaks a rule: its name, its time, its period, or the size of its
	// message.
	ErrInvalid = errors.New("sharding: invalid reminder")
	// ErrTooMany: the entity has as many reminders as it may have, or too many changes wait for the
	// store.
	ErrTooMany = errors.New("sharding: too many reminders")
)

// ErrFenced is the error of a call when a later hosting of the shard has made one. The region gives up
// what it wanted to write.
var ErrFenced = protocol.ErrFenced

// ErrDamaged: what was read is not what was written. No repetition helps: a person has to look at
// it.
var ErrDamaged = errors.New("sharding: a stored reminder is damaged")

// ErrOvertaken: a later update of the same hosting has taken effect. This one has none.
var ErrOvertaken = errors.New("sharding: a later change of the reminders has overtaken this one")
