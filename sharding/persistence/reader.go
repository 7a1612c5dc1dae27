package persistence

import (
	"context"
	"fmt"
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
	//
	// A query that Check refuses yields that error.
	Events(ctx context.Context, q Query) iter.Seq2[Recorded, error]
}

// Query says which events are read.
type Query struct {
	Type string
	// First is the first of the slices that the query is about, and End the number after the last one.
	// An End of 0 is SliceCount: a query that says nothing of slices is about all of them.
	First, End int
	Tag        string // only events with this tag; "": all
	After      Offset // only events after it; "": from the first one
	Live       bool   // go on with what will be appended
}

// Slices returns the range of the query: first, and up to but without end.
func (q Query) Slices() (first, end int) {
	if q.End == 0 {
		return q.First, SliceCount
	}
	return q.First, q.End
}

// HasSlice reports whether the query is about a slice.
func (q Query) HasSlice(slice int) bool {
	first, end := q.Slices()
	return first <= slice && slice < end
}

// Check returns an error for a range that has no slice, or some that there are not. For a name of a
// type that is too long it is ErrTooLarge.
func (q Query) Check() error {
	if first, end := q.Slices(); first < 0 || first >= end || end > SliceCount {
		return fmt.Errorf("persistence: a query of %q is for the slices from %d up to, and without, %d: "+
			"there are 0 to %d", q.Type, first, end, SliceCount-1)
	}
	return CheckCall(Hosting{Type: q.Type}, 0)
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
