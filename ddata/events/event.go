package events

import (
	"fmt"
	"log/slog"
	"strings"
)

// Event is something that happened on a node. Events are values; what they refer to is not changed
// any more.
type Event interface {
	fmt.Stringer
	// Line is the event as a line of a log.
	Line() Line
}

// Loss is an Event that tells of messages which do not arrive.
type Loss interface {
	Event
	// Lost is how many they are.
	Lost() uint64
}

// Line is a line of a log: a constant message, and what is particular as attributes.
type Line struct {
	Level   slog.Level
	Message string
	Attrs   []slog.Attr
}

func line(level slog.Level, message string, attrs ...slog.Attr) Line {
	return Line{level, message, attrs}
}

// String prints the message and the attributes.
func (l Line) String() string {
	var b strings.Builder
	b.WriteString(l.Message)
	for _, a := range l.Attrs {
		b.WriteByte(' ')
		b.WriteString(a.String())
	}
	return b.String()
}

// warnIf is the level of what is a warning at times.
func warnIf(warn bool, otherwise slog.Level) slog.Level {
	if warn {
		return slog.LevelWarn
	}
	return otherwise
}
