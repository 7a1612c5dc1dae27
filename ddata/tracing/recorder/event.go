package recorder

import (
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/tracing/story"
)

var (
	_ events.Listener = (*Recorder)(nil).Event
	_ events.Listener = (*Recorder)(nil).TypeEvent
)

// Event records what happens on the node. It is for ddata.Config.OnEvent.
func (r *Recorder) Event(e events.Event) {
	l := e.Line()
	rec := story.Record{Kind: kindOf(e, l.Level), Text: e.String()}
	for _, a := range l.Attrs {
		switch a.Key {
		case "type":
			rec.Type = a.Value.String()
		case "id":
			rec.ID = a.Value.String()
		case "key":
			rec.Keys = []string{a.Value.String()}
		}
	}
	r.Record(rec)
}

// TypeEvent records which messages of an entity type are lost, and which entities fail. It is for OnEvent of
// that type, which hears more: that reaches Event as well.
func (r *Recorder) TypeEvent(e events.Event) {
	if _, lost := e.(events.Loss); lost || e.Line().Level >= slog.LevelError {
		r.Event(e)
	}
}

func kindOf(e events.Event, level slog.Level) story.Kind {
	switch e.(type) {
	case events.NodeEnded:
		return story.Ended
	case events.Loss:
		return story.Lost
	}
	switch {
	case level >= slog.LevelWarn:
		return story.Fault
	case level >= slog.LevelInfo:
		return story.Note
	}
	return story.Step
}
