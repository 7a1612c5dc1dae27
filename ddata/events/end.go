package events

import (
	"log/slog"
	"strings"
	"time"
)

// Events of a node's end, and of what could have been one.
type (
	// ShutdownPhase: a phase of the coordinated shutdown that had tasks has ended.
	ShutdownPhase struct {
		Phase      string
		Took       time.Duration
		Unfinished []string // tasks that did not end in time; they run on
		Err        error    // of the tasks that ended
	}
	// MachineBroken: a machine of the node has panicked, and the node ends. It is a defect.
	MachineBroken struct {
		Machine string // which one
		State   string // as it printed itself
		Panic   string
		Stack   string
	}
	// UserCodePanicked: code that the node was given has panicked, on a goroutine that the node
	// lives by. It costs the call, which has failed. It is told of the first panic, the second, the
	// fourth and so on.
	UserCodePanicked struct {
		In    string // what was called
		Panic string
		Stack string
		SoFar uint64 // panics of what tells of it: the node, a producer of sharding/delivery
	}
	// NodeEnded: the node is no member any more, and lets go of everything.
	NodeEnded struct {
		Err  error
		Warn bool // it did not end because it was told to
	}
)

// Line implements Event.
func (e ShutdownPhase) Line() Line {
	attrs := []slog.Attr{slog.String("phase", e.Phase), slog.Duration("took", e.Took)}
	if len(e.Unfinished) > 0 {
		attrs = append(attrs, slog.String("unfinished", strings.Join(e.Unfinished, ", ")))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	return line(warnIf(len(e.Unfinished) > 0 || e.Err != nil, slog.LevelInfo), "shutdown phase ended", attrs...)
}

// Line implements Event.
func (e MachineBroken) Line() Line {
	return line(slog.LevelError, "a machine of the node is broken",
		slog.String("machine", e.Machine), slog.String("panic", e.Panic),
		slog.String("state", e.State), slog.String("stack", e.Stack))
}

// Line implements Event.
func (e UserCodePanicked) Line() Line {
	return line(slog.LevelError, "user code panicked", slog.String("in", e.In), slog.String("panic", e.Panic),
		slog.Uint64("so_far", e.SoFar), slog.String("stack", e.Stack))
}

// Line implements Event.
func (e NodeEnded) Line() Line {
	return line(warnIf(e.Warn, slog.LevelInfo), "node ends", slog.Any("reason", e.Err))
}
