package persistence

import (
	"context"
	"iter"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Reader reads events over all entities of a type.
type Reader interface {
	// Events returns the events that a query asks for. Those of one entity come in their order. The
	// sequence ends with the last stored event. That of a live query ends with its context, without
	// an error. Deleted events are left out. The event and what it refers to are valid until the next
	// one is asked for.
	//
	// An error beside an offset is about one event: it is ErrDamaged. The entity and the number of the
	// event are there, and what can be read of its type. The query goes on after it. A query for a tag
	// may yield it, too. Every other error is the last element.
	//
	// A query that goes on after the offset of the last event that a caller has seen yields every
	// event that it has not seen, and none that it has, also if the earlier query was broken off,
	// and whatever was appended meanwhile. That is so for equal or smaller ranges of slices.
	Events(ctx context.Context, q Query) iter.Seq2[Recorded, error]
}

// Query says which events are read.
type Query struct {
	Type string
	// First and Last are the range of slices, both included. 0 and SliceCount-1 are all; without
	// them a query is about slice 0 alone.
	First, Last int
	Tag         string // only events with this tag; "": all
	After       Offset // only events after it; "": from the first one
	Live        bool   // go on with what will be appended
}

// Offset is a place among the events of a type. It is the store's own: only the same adapter can
// read it. "" is the place before the first event.
type Offset string

// Recorded is an event as a Reader finds it.
type Recorded struct {
	Entity protocol.EntityID
	Event  Event
	Offset Offset // the place after this event
}
