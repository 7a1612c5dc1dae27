package events

import "log/slog"

// Events of finding others.
type (
	// Discovered: the answer of ddata.Config.Discovery differs from the one before, or is the first
	// since it is asked again.
	Discovered struct {
		Source string
		Addrs  []string
		Err    error // why these are none, or may not be all; it is asked again
	}
	// Gossiped: what gossip notes: lines of memberlist's own log, and addresses that it cannot
	// resolve or join through.
	Gossiped struct {
		Text string
		Addr string // that it is about; may be empty
		Err  error
		Warn bool // an operator should look at it
	}
)

// Line implements Event.
func (e Discovered) Line() Line {
	source := slog.String("source", e.Source)
	switch {
	case e.Err == nil:
		return line(slog.LevelInfo, "discovery", source, slog.Any("addrs", e.Addrs))
	case len(e.Addrs) == 0:
		return line(slog.LevelWarn, "discovery: no answer; it is asked again", source, slog.Any("err", e.Err))
	}
	return line(slog.LevelWarn, "discovery: this may not be all; it is asked again",
		source, slog.Any("addrs", e.Addrs), slog.Any("err", e.Err))
}

// Line implements Event.
func (e Gossiped) Line() Line {
	attrs := []slog.Attr{slog.String("text", e.Text)}
	if e.Addr != "" {
		attrs = append(attrs, slog.String("addr", e.Addr))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("err", e.Err))
	}
	return line(warnIf(e.Warn, slog.LevelDebug), "gossip", attrs...)
}
