package postgres

import (
	"fmt"
	"math"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Limits of the adapter, beside those of the port.
const (
	EntityMax     = 2048      // bytes of the id of an entity
	WriteBytesMax = 256 << 20 // bytes of the bodies of one write

	statementBytes = 64 << 20 // of bodies in one statement, unless a write has more
	seqMax         = math.MaxInt64 / 2
)

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("postgres: %s: %w", fmt.Sprintf(format, args...), persistence.ErrTooLarge)
}

func checkHosting(h persistence.Hosting) error {
	if len(h.Type) > persistence.NameMax {
		return tooLarge("the name of the type has %d bytes, want at most %d", len(h.Type), persistence.NameMax)
	}
	return nil
}

// checkCall looks at what all elements of a call have in common.
func checkCall(h persistence.Hosting, elements int) error {
	if elements > persistence.WritesMax {
		return tooLarge("%d writes in one call, want at most %d", elements, persistence.WritesMax)
	}
	return checkHosting(h)
}

// checkEntity looks at an id, and at the number after which something is written.
func checkEntity(id protocol.EntityID, after uint64) error {
	switch {
	case len(id) > EntityMax:
		return tooLarge("the id of an entity has %d bytes, want at most %d", len(id), EntityMax)
	case after > seqMax:
		return conflict(id, after)
	}
	return nil
}

func conflict(id protocol.EntityID, after uint64) error {
	return fmt.Errorf("postgres: entity %v: nothing ends with %d: %w", id, after, persistence.ErrConflict)
}

// checkValue looks at the parts of an event, a snapshot or a state.
func checkValue(id protocol.EntityID, name string, tags []string, body []byte) error {
	switch {
	case len(name) > persistence.NameMax:
		return tooLarge("entity %v: a name of a type of %d bytes, want at most %d", id, len(name), persistence.NameMax)
	case len(tags) > persistence.TagsMax:
		return tooLarge("entity %v: %d tags, want at most %d", id, len(tags), persistence.TagsMax)
	case len(body) > persistence.BodyMax:
		return tooLarge("entity %v: a body of %d bytes, want at most %d", id, len(body), persistence.BodyMax)
	}
	for _, tag := range tags {
		if len(tag) > persistence.NameMax {
			return tooLarge("entity %v: a tag of %d bytes, want at most %d", id, len(tag), persistence.NameMax)
		}
	}
	return nil
}

// checkWrite looks at a write, and returns the bytes of its bodies.
func checkWrite(w persistence.Write) (size int, err error) {
	if err := checkEntity(w.Entity, w.After); err != nil {
		return 0, err
	}
	if n := len(w.Events); n == 0 || n > persistence.EventsMax {
		return 0, tooLarge("entity %v: %d events in a write, want 1 to %d", w.Entity, n, persistence.EventsMax)
	}
	for _, e := range w.Events {
		if err := checkValue(w.Entity, e.Name, e.Tags, e.Body); err != nil {
			return 0, err
		}
		size += len(e.Body)
	}
	if size > WriteBytesMax {
		return 0, tooLarge("entity %v: a write of %d bytes, want at most %d", w.Entity, size, WriteBytesMax)
	}
	return size, nil
}
