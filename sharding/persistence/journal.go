package persistence

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Journal keeps the histories of entities. Its methods may be called concurrently. A call has no
// effect on behalf of its caller's memory after it has returned: slices are the caller's again.
//
// Every call ends soon after its context. What it was about may still take effect then, but not
// after a later hosting of the shard has been fenced.
type Journal interface {
	Fencer
	// Append appends each write to the history of its entity. Of one entity there is at most one
	// write in a call. A write takes effect whole or not at all; one of a call may without another.
	//
	// refused lists the writes that had no effect. All others are stored if err is nil. If it is
	// not, nothing is known of any write, unless err is ErrFenced: then none took effect.
	//
	// A write that is repeated, with the same ID, Entity and After by the same hosting, is answered
	// as stored if it was. A caller repeats a write before it makes the next one of that entity.
	Append(ctx context.Context, h Hosting, writes []Write) (refused []Refusal, err error)
	// Load calls each for the events that the reads ask for: those of one read in their order,
	// i being its index. It returns one End for each read. An error of each ends the call, and is
	// its error. The event and what it refers to are valid until each returns.
	Load(ctx context.Context, h Hosting, reads []Read, each func(i int, e Event) error) ([]End, error)
	// Delete forgets the events of an entity up to a sequence number, and keeps the number: the
	// history goes on where it was. A number above that of the last event counts as that one. To
	// delete what was deleted changes nothing.
	Delete(ctx context.Context, h Hosting, id protocol.EntityID, upTo uint64) error
}

// Fencer is the part that all stores of the port have in common.
type Fencer interface {
	// Fence begins a hosting. After it has returned nil, no call of a hosting of the same shard with
	// a lower token has an effect, and each gets ErrFenced. Fence gets it if a higher token was here.
	// It may be repeated.
	Fence(ctx context.Context, h Hosting) error
}

// Write is some events that are appended together.
type Write struct {
	Entity protocol.EntityID
	After  uint64 // the sequence number of the last event before: 0 for an entity without history
	// ID is the write's own among those of its hosting. It tells a repeated write from another one
	// with the same sequence number.
	ID     uint64
	Events []Event // at least one, at most EventsMax, numbered from After+1
}

// Event is one event of a history.
type Event struct {
	Seq     uint64    // its number, from 1
	Name    string    // of its type
	Version uint32    // of its type's form
	Body    []byte    // at most BodyMax
	Tags    []string  // sorted, each once
	At      time.Time // when it was written, by the clock of the writer, in microseconds
}

// Read asks for the events of an entity after a sequence number.
type Read struct {
	Entity protocol.EntityID
	After  uint64
}

// End says where a history begins and ends.
type End struct {
	Deleted uint64 // the highest number that was deleted: 0 for none
	Last    uint64 // the number of the last event, deleted or not: 0 for an entity without history
}
