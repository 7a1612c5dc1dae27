package control

import (
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Event is what the control plane of a type notes. It goes to the node's log, and to EntityType.OnEvent
// and ddata.Config.OnEvent: an alarm, and what becomes one if it goes on, as a warning, others at
// debug.
type Event struct {
	Type string
	What protocol.Event
}

var _ events.Event = Event{}

// Line implements events.Event.
func (e Event) Line() events.Line {
	level := slog.LevelDebug
	if e.What.Warning() {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("type", e.Type), slog.String("event", e.What.String())}
	if e.What.Stack != "" {
		attrs = append(attrs, slog.String("stack", e.What.Stack))
	}
	return events.Line{Level: level, Message: "sharding", Attrs: attrs}
}

// String prints the line.
func (e Event) String() string { return e.Line().String() }
