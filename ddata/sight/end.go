package sight

import (
	"log/slog"
	"strings"
	"time"
)

// Events of a node's end.
type (
	// ShutdownPhase: a phase of the coordinated shutdown that had tasks has ended.
	ShutdownPhase struct {
		Phase      string
		Took       time.Duration
		Unfinished []string // tasks that did not end in time; they run on
		Err        error    // of those that ended
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
func (e NodeEnded) Line() Line {
	return line(warnIf(e.Warn, slog.LevelInfo), "node ends", slog.Any("reason", e.Err))
}
