package persistence

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// States keeps one value per entity. Its methods are as those of Journal.
type States interface {
	Fencer
	// SaveStates stores values, at most one of an entity. See Journal.Append for what it returns,
	// and for what a repeated write is.
	SaveStates(ctx context.Context, h Hosting, writes []StateWrite) (refused []Refusal, err error)
	// LoadStates calls each for the value of each entity that ever had one. The state and what it
	// refers to are valid until each returns. One that the store finds damaged is ErrDamaged, which
	// names the entity; the others of the call come nevertheless.
	LoadStates(ctx context.Context, h Hosting, ids []protocol.EntityID, each func(i int, s State) error) error
}

// StateWrite replaces the value of an entity.
type StateWrite struct {
	Entity protocol.EntityID
	After  uint64 // the revision of the value before: 0 for an entity without one
	ID     uint64 // see Write.ID
	State  State  // its revision is After+1
}

// Stored is the state as it is loaded again: of one that is deleted nothing but that, and when.
func (w StateWrite) Stored() State {
	s := w.State
	s.Revision = w.After + 1
	if s.Deleted {
		s.Name, s.Version, s.Body, s.Tags = "", 0, nil, nil
	}
	return s
}

// State is the value of an entity.
type State struct {
	Revision uint64    // counts the values of the entity from 1; a deletion counts, too
	Deleted  bool      // there is no value: Name, Version, Body and Tags are empty
	Name     string    // of its type
	Version  uint32    // of its type's form
	Body     []byte    // at most BodyMax
	Tags     []string  // sorted, each once
	At       time.Time // when it was written, by the clock of the writer, in microseconds
}
