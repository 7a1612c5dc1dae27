package persistence

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Limits of the port, the same for every adapter.
const (
	BodyMax   = 16 << 20 // bytes of the body of one event, snapshot or state
	EventsMax = 4096     // events of one write
	WritesMax = 4096     // writes of one call
	NameMax   = 255      // bytes of the name of a type, of an event's type, and of a tag
	TagsMax   = 32       // tags of one event or state
)

// CheckCall returns ErrTooLarge for a call that is above a limit as a whole.
func CheckCall(h Hosting, elements int) error {
	if n := len(h.Type); n > NameMax {
		return tooLarge("the name of an entity type has %d bytes, want at most %d", n, NameMax)
	}
	if elements > WritesMax {
		return tooLarge("a call has %d elements, want at most %d", elements, WritesMax)
	}
	return nil
}

// Check returns ErrTooLarge for a write that is above a limit of the port, and for one without
// events.
func (w Write) Check() error {
	if n := len(w.Events); n == 0 || n > EventsMax {
		return tooLarge("entity %v: a write has %d events, want 1 to %d", w.Entity, n, EventsMax)
	}
	for _, e := range w.Events {
		if err := checkValue(w.Entity, e.Name, e.Tags, e.Body); err != nil {
			return err
		}
	}
	return nil
}

// Check returns ErrTooLarge for a snapshot that is above a limit of the port.
func (s Snapshot) Check() error { return checkValue(s.Entity, s.Name, nil, s.Body) }

// Check returns ErrTooLarge for a value that is above a limit of the port.
func (w StateWrite) Check() error {
	return checkValue(w.Entity, w.State.Name, w.State.Tags, w.State.Body)
}

func checkValue(id protocol.EntityID, name string, tags []string, body []byte) error {
	if n := len(name); n > NameMax {
		return tooLarge("entity %v: the name of a type has %d bytes, want at most %d", id, n, NameMax)
	}
	if n := len(body); n > BodyMax {
		return tooLarge("entity %v: a body has %d bytes, want at most %d", id, n, BodyMax)
	}
	if n := len(tags); n > TagsMax {
		return tooLarge("entity %v: there are %d tags, want at most %d", id, n, TagsMax)
	}
	for _, tag := range tags {
		if n := len(tag); n > NameMax {
			return tooLarge("entity %v: a tag has %d bytes, want at most %d", id, n, NameMax)
		}
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrTooLarge}, args...)...)
}
