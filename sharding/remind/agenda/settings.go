package agenda

import (
	"cmp"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Settings say whether entities of a type may set reminders, where these are kept, and how they are
// handled. Enabled must be the same on all nodes of the role.
type Settings struct {
	// Enabled lets entities set reminders (Context.Remind). A shard that has some is started with no
	// traffic, and no shard of the type is stopped for good. Default: off.
	Enabled bool
	// Store keeps the reminders. All nodes of the role need the same one. Default: the replicated data
	// of the role, on the disks of its nodes if they have some. For nodes without disks there is one in
	// PostgreSQL: Store.Reminders of sharding/persistence/postgres. One that has a method EntityType() string
	// is of that type, and refused by others.
	Store remind.Store
	// FiringMax is how many reminders of one shard are under way at a time: with their entities, or
	// about to be taken off. More of them bring back faster what has piled up, and fill mailboxes
	// and writes. A handler that does not return keeps the place of its reminder. Default 256.
	FiringMax int
	// EntityMax is how many reminders one entity may have. Damaged ones do not count. Default 100.
	EntityMax int
	// BackoffMin is the pause before a reminder is handled again after its handler has failed. It
	// doubles with each failure in a row, up to BackoffMax. Defaults 1 s and 5 min, or BackoffMin if
	// that is longer.
	BackoffMin, BackoffMax time.Duration
}

// WithDefaults is s with the default in place of each zero field.
func (s Settings) WithDefaults() Settings {
	s.FiringMax = cmp.Or(s.FiringMax, 256)
	s.EntityMax = cmp.Or(s.EntityMax, 100)
	s.BackoffMin = cmp.Or(s.BackoffMin, time.Second)
	s.BackoffMax = cmp.Or(s.BackoffMax, max(5*time.Minute, s.BackoffMin))
	return s
}

// Check adds what is wrong.
func (s Settings) Check(f *config.Faults) {
	f.Add(s.Store != nil && !s.Enabled, "Reminders.Store", "is given, but Reminders.Enabled is not set: nothing "+
		"would be kept in it")
	f.Add(s.FiringMax < 0 || s.FiringMax > remind.DueMax, "Reminders.FiringMax", "is %d, want 1 to %d",
		s.FiringMax, remind.DueMax)
	f.Add(s.EntityMax < 0, "Reminders.EntityMax", "is %d, want 1 or more", s.EntityMax)
	f.Add(s.BackoffMin < 0, "Reminders.BackoffMin", "is %v, want more than 0", s.BackoffMin)
	d := s.WithDefaults()
	f.Add(d.BackoffMax < max(0, d.BackoffMin), "Reminders.BackoffMax", "%v is negative or below BackoffMin %v",
		d.BackoffMax, d.BackoffMin)
}

const (
	// SetsMax is how many changes wait for the next write.
	SetsMax = 4096
	// LookMax is the longest time for which the wall clock is not looked at.
	LookMax = 10 * time.Second
	// busyPause is the pause after which a reminder is handed out again that found no room.
	busyPause = 100 * time.Millisecond
	// morePause is the pause after which what has piled up is read although little room is free.
	morePause = 50 * time.Millisecond
	// The pauses after which a read or a write is repeated that has failed.
	retryMin, retryMax = 100 * time.Millisecond, 10 * time.Second
)
