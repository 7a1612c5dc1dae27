package sight

import (
	"log/slog"
)

// Events of the store in the node's directory.
type (
	// StoreFailed: durable data of a role could not be stored; whoever wrote it is told so.
	StoreFailed struct {
		Role string
		Err  error
	}
	// StoreGrown: the store's map was enlarged.
	StoreGrown struct {
		File     string
		From, To int64 // bytes
	}
	// StoreCompacted: the store's file was written anew, without what was free. Err says that this failed, and that the file is as it was.
	StoreCompacted struct {
		File          string
		Before, After int64 // bytes
		Err           error
	}
	// StaleKeys: the store holds keys that the node's configuration does not call durable any more; nobody can reach them.
	StaleKeys struct {
		Role  string
		Keys  int
		First string
	}
	// StaleRole: the directory holds data of a role that the node does not have.
	StaleRole struct {
		Role, Dir string
		Roles     []string // that it has
	}
)

// Line implements Event.
func (e StoreFailed) Line() Line {
	return line(slog.LevelError, "durable data could not be stored", slog.String("role", e.Role), slog.Any("err", e.Err))
}

// Line implements Event.
func (e StoreGrown) Line() Line {
	return line(slog.LevelDebug, "durable store grown", slog.String("file", e.File), slog.Int64("from", e.From), slog.Int64("to", e.To))
}

// Line implements Event.
func (e StoreCompacted) Line() Line {
	if e.Err != nil {
		return line(slog.LevelWarn, "durable store: compaction failed, the file is as it was", slog.String("file", e.File), slog.Any("err", e.Err))
	}
	return line(slog.LevelInfo, "durable store compacted", slog.String("file", e.File), slog.Int64("before", e.Before), slog.Int64("after", e.After))
}

// Line implements Event.
func (e StaleKeys) Line() Line {
	return line(slog.LevelWarn, "the store holds keys that Config.DurableKeys does not name any more; name them again, or remove them from all nodes "+
		"with coterie-data", slog.String("role", e.Role), slog.Int("keys", e.Keys), slog.String("first", e.First))
}

// Line implements Event.
func (e StaleRole) Line() Line {
	return line(slog.LevelWarn, "the directory holds data of a role that Config.Roles does not name; it stays there unread",
		slog.String("role", e.Role), slog.String("dir", e.Dir), slog.Any("roles", e.Roles))
}
