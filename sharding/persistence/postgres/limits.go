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

func checkHosting(h persistence.Hosting) error { return persistence.CheckCall(h, 0) }

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

// checkWrite looks at a write, and returns the bytes of its bodies.
func checkWrite(w persistence.Write) (size int, err error) {
	if err := checkEntity(w.Entity, w.After); err != nil {
		return 0, err
	}
	if err := w.Check(); err != nil {
		return 0, err
	}
	for _, e := range w.Events {
		size += len(e.Body)
	}
	if size > WriteBytesMax {
		return 0, tooLarge("entity %v: a write of %d bytes, want at most %d", w.Entity, size, WriteBytesMax)
	}
	return size, nil
}
