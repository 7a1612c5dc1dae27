package persistence

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Snapshots keeps states of entities as they were after some event, to save the load of the events
// before. Its methods are as those of Journal. A store that is a Journal, too, has one fence for
// both.
type Snapshots interface {
	Fencer
	// SaveSnapshots stores snapshots, at most one of an entity. One of the same entity and sequence
	// number is replaced. See Journal.Append for what it returns.
	SaveSnapshots(ctx context.Context, h Hosting, snapshots []Snapshot) (refused []Refusal, err error)
	// LoadSnapshots calls each for the newest snapshot below a sequence number, for each read whose
	// entity has one. The snapshot and what it refers to are valid until each returns. A snapshot
	// that the store finds damaged comes with a nil Body.
	LoadSnapshots(ctx context.Context, h Hosting, reads []SnapshotRead, each func(i int, s Snapshot) error) error
	// DeleteSnapshots forgets the snapshots of an entity up to a sequence number.
	DeleteSnapshots(ctx context.Context, h Hosting, id protocol.EntityID, upTo uint64) error
}

// Snapshot is the state of an entity after an event.
type Snapshot struct {
	Entity  protocol.EntityID
	Seq     uint64    // of the last event in it
	Name    string    // of its type
	Version uint32    // of its type's form
	Body    []byte    // at most BodyMax, not nil
	At      time.Time // when it was made, by the clock of the writer, in microseconds
}

// SnapshotRead asks for the newest snapshot of an entity.
type SnapshotRead struct {
	Entity protocol.EntityID
	Below  uint64 // only those with a lower sequence number; 0: any
}
