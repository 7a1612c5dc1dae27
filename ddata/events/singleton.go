package events

import (
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// Events of what runs on one node of a role at a time (ddata.Node.RunSingleton).
type (
	// SingletonChanged: this node's part in a singleton has another state. It runs here or stops;
	// or the older node that leaves was asked for it, or has said that it is stopping it; or this
	// node has handed it over.
	SingletonChanged struct {
		Name, Role string
		State      singleton.State
	}
	// SingletonFailed: it has ended by itself with an error, and is started again after a while.
	SingletonFailed struct {
		Name, Role string
		Err        error
		Again      time.Duration // after which it is started
	}
	// SingletonOutlived: the node has ended and the singleton goes on, although its context ended a
	// while ago.
	SingletonOutlived struct{ Name, Role string }
)

// Line implements Event.
func (e SingletonChanged) Line() Line {
	return line(slog.LevelInfo, "singleton",
		slog.String("name", e.Name), slog.String("role", e.Role), slog.String("state", e.State.String()))
}

// Line implements Event.
func (e SingletonFailed) Line() Line {
	return line(slog.LevelWarn, "singleton has ended by itself and is started again",
		slog.String("name", e.Name), slog.String("role", e.Role), slog.Any("err", e.Err),
		slog.Duration("after", e.Again))
}

// Line implements Event.
func (e SingletonOutlived) Line() Line {
	return line(slog.LevelWarn, "singleton goes on although the node has ended: its Run does not heed ctx",
		slog.String("name", e.Name), slog.String("role", e.Role))
}
