package events

import (
	"log/slog"

	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Events of the store in the node's directory.
type (
	// StoreFailed: durable data could not be stored; the writer is told so.
	StoreFailed struct {
		keyspace.Dataset
		Err error
	}
	// StoreGrown: the store's map was enlarged.
	StoreGrown struct {
		File     string
		From, To int64 // bytes
	}
	// StoreCompacted: the store's file was written anew, without what was free. Err says that this
	// failed, and that the file is as it was.
	StoreCompacted struct {
		File          string
		Before, After int64 // bytes
		Err           error
	}
	// StoreUnmarked: the mark could not be written by which the next node on the directory learns
	// since when this one does nothing. It was taken away, so that the next one waits for leases
	// from its own start. With Kept that failed too, and this node grants no leases.
	StoreUnmarked struct {
		Dir  string
		Kept bool
		Err  error
	}
	// UnnamedKeys: the cluster keeps keys durable that this node's Config.DurableKeys does not
	// name; told with the first view. That is so during a rolling restart, and when a pattern was
	// given up: it is agreed on until it is taken off.
	UnnamedKeys struct{ Patterns []string }
	// StaleRole: the directory holds data of a role that the node does not have.
	StaleRole struct {
		keyspace.Dataset
		Dir   string
		Roles []string // that it has
	}
)

// Line implements Event.
func (e StoreFailed) Line() Line {
	return line(slog.LevelError, "durable data could not be stored",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.Any("err", e.Err))
}

// Line implements Event.
func (e StoreGrown) Line() Line {
	return line(slog.LevelDebug, "durable store grown",
		slog.String("file", e.File), slog.Int64("from", e.From), slog.Int64("to", e.To))
}

// Line implements Event.
func (e StoreCompacted) Line() Line {
	if e.Err != nil {
		return line(slog.LevelWarn, "durable store: compaction failed, the file is as it was",
			slog.String("file", e.File), slog.Any("err", e.Err))
	}
	return line(slog.LevelInfo, "durable store compacted",
		slog.String("file", e.File), slog.Int64("before", e.Before), slog.Int64("after", e.After))
}

// Line implements Event.
func (e StoreUnmarked) Line() Line {
	text := "the directory could not be marked as in use; after a kill of all nodes, the next ones wait for " +
		"leases from their start"
	if e.Kept {
		text = "the directory could not be marked as in use, nor the mark removed; this node grants no leases until " +
			"the disk takes it"
	}
	return line(slog.LevelWarn, text, slog.String("dir", e.Dir), slog.Any("err", e.Err))
}

// Line implements Event.
func (e UnnamedKeys) Line() Line {
	return line(slog.LevelInfo, "keys that no DurableKeys of the Config name are durable; if no node is to name "+
		"them any more, stop the cluster and run coterie data remove with the patterns on each directory, and with "+
		"-role for those of one role", slog.Any("keys", e.Patterns))
}

// Line implements Event.
func (e StaleRole) Line() Line {
	return line(slog.LevelWarn, "the directory holds data of a role that Config.Roles does not name; it stays "+
		"there unread",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("dir", e.Dir), slog.Any("roles", e.Roles))
}
