package remind

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Limits of the port, the same for every store.
const (
	NameMax    = 255                   // bytes of a name, which is UTF-8 and not empty
	BodyMax    = 64 << 10              // bytes of an encoded message
	EveryMin   = 10 * time.Millisecond // the shortest period
	ChangesMax = 1024                  // changes of one Update
	DueMax     = 4096                  // reminders of one Due, and of one All
)

// A time is kept in nanoseconds since 1970, in 64 bits.
var (
	timeMin = time.Unix(0, math.MinInt64)
	timeMax = time.Unix(0, math.MaxInt64)
)

// Reminder is one reminder of an entity, as it is stored.
type Reminder struct {
	Entity protocol.EntityID
	Name   string
	Due    time.Time     // what it was set for; of one that repeats, the time of its next turn
	Every  time.Duration // its period; 0: it comes once
	At     time.Time     // when it is handled: Due, or later after handlers have failed
	Tries  uint32        // turns of a handler that have failed since Due
	Body   []byte        // the encoded message

	// Version tells the reminder from others of the same entity and name. It is never 0. What takes the place of a
	// reminder has a higher one. So has what is set later with no other in sight, by the clocks of the nodes.
	Version uint64
}

// Key names a reminder within its shard.
type Key struct {
	Entity protocol.EntityID
	Name   string
}

func (k Key) String() string { return fmt.Sprintf("%q of %v", k.Name, k.Entity) }

// Compare orders keys by their entities, and then by their names.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(string(k.Entity), string(o.Entity)), strings.Compare(k.Name, o.Name))
}

// Key names the reminder.
func (r Reminder) Key() Key { return Key{r.Entity, r.Name} }

// Check returns ErrInvalid for a reminder that breaks a limit of the port.
func (r Reminder) Check() error {
	switch n := len(r.Body); {
	case r.Name == "" || len(r.Name) > NameMax:
		return invalid(r, "its name has %d bytes, want 1 to %d", len(r.Name), NameMax)
	case !utf8.ValidString(r.Name):
		return invalid(r, "its name is not UTF-8")
	case n > BodyMax:
		return invalid(r, "its message has %d bytes, want at most %d: keep what is larger in the entity's state",
			n, BodyMax)
	case r.Every < 0 || r.Every > 0 && r.Every < EveryMin:
		return invalid(r, "its period is %v, want 0 or at least %v", r.Every, EveryMin)
	case !storable(r.Due) || !storable(r.At):
		return invalid(r, "it is due at %v, want a time between the years 1678 and 2261", r.Due)
	}
	return nil
}

func storable(t time.Time) bool { return t.After(timeMin) && t.Before(timeMax) }

func invalid(r Reminder, format string, args ...any) error {
	name := r.Name[:min(len(r.Name), NameMax)]
	return fmt.Errorf("%w %q of %v: "+format, append([]any{ErrInvalid, name, r.Entity}, args...)...)
}

// Missed returns how many turns have passed unhandled between Due and now, that of Due not counted.
// It is 0 for a reminder that comes once.
func (r Reminder) Missed(now time.Time) uint64 {
	if r.Every <= 0 || !now.After(r.Due) {
		return 0
	}
	return uint64(since(r.Due, now)) / uint64(r.Every)
}

// Next returns the reminder for its first turn after now, and false if there is none: it comes once,
// or its time ends. The turns stay multiples of the period from the first one on.
func (r Reminder) Next(now time.Time) (next Reminder, ok bool) {
	if r.Every <= 0 {
		return Reminder{}, false
	}
	ahead := (r.Missed(now) + 1) * uint64(r.Every)
	if ahead < uint64(r.Every) { // more than a time can hold
		return Reminder{}, false
	}
	next = r
	for ; ahead > math.MaxInt64; ahead -= math.MaxInt64 {
		next.Due = next.Due.Add(math.MaxInt64)
	}
	next.Due = next.Due.Add(time.Duration(ahead))
	next.At, next.Tries = next.Due, 0
	next.Version++
	return next, storable(next.Due)
}

// since is the span between two times that can be stored, which is longer than a Duration can be.
func since(from, to time.Time) uint64 { return uint64(to.UnixNano()) - uint64(from.UnixNano()) }

// Change is one change of a shard's reminders. Of one that takes away, Entity and Name count.
type Change struct {
	Reminder
	Remove bool
	// If is the Version of the reminder that must be stored: otherwise nothing happens, which is no
	// error. 0: the change happens whatever is stored.
	If uint64
}
