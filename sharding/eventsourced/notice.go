package eventsourced

import (
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// SnapshotFailed is the event that a snapshot was not read, or not written, or that what it stands
// for was not deleted. The entity goes on without. It reaches the log of the node, and
// ddata.Config.OnEvent.
type SnapshotFailed struct {
	Type   string // of the entity
	Entity protocol.EntityID
	Doing  string // what failed
	Seq    uint64 // of the last event in it
	Err    error
}

var _ events.Event = SnapshotFailed{}

// Line implements events.Event.
func (e SnapshotFailed) Line() events.Line {
	return events.Line{Level: slog.LevelWarn, Message: "a snapshot failed", Attrs: []slog.Attr{
		slog.String("type", e.Type), slog.String("id", string(e.Entity)), slog.String("doing", e.Doing),
		slog.Uint64("seq", e.Seq), slog.Any("error", e.Err),
	}}
}

// String implements events.Event.
func (e SnapshotFailed) String() string { return e.Line().String() }
