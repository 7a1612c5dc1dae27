package events

import (
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Events of a Replicator. Each has the dataset that it is about.
type (
	// CaughtUp: this node has got the data of a role as it was when the node joined.
	CaughtUp struct{ keyspace.Dataset }
	// MajorityLost: a majority of an older view is gone for good, and what only it held is lost.
	MajorityLost struct {
		keyspace.Dataset
		Settled effect.Settlement
	}
	// RepairBegan: this node begins to fetch from a member what it lacks and that one's log does
	// not cover.
	RepairBegan struct {
		keyspace.Dataset
		Space keyspace.Space
		Peer  view.UID
	}
	// RepairEnded: it has ended: done, broken off, or put off until the member has repaired itself
	// from here.
	RepairEnded struct {
		keyspace.Dataset
		Space keyspace.Space
		Peer  view.UID
		State effect.RepairState
		Items uint64 // that were fetched, if it is done
		Took  time.Duration
	}
	// WritersHeld: writers wait because a member is far behind and no majority keeps up; said at most
	// once a minute.
	WritersHeld struct {
		keyspace.Dataset
		Space keyspace.Space
		Peer  view.UID
		Held  int // writers that wait now
	}
	// KeyLarge: a key has grown beyond settings.Config.LargeKey, or by a tenth since that was
	// said.
	KeyLarge struct {
		keyspace.Dataset
		Key   string
		Bytes int // estimated encoded size of what it holds on this node
	}
	// Diverged: two replicas held different values of one write, which only damage can bring about;
	// all keep the same one now.
	Diverged struct {
		keyspace.Dataset
		Key  string
		Dot  crdt.Dot
		Peer view.UID
		Dots int // that differed, all in all; the first few are told
	}
	// PeerMalformed: messages of a member make no sense; said at most once a minute.
	PeerMalformed struct {
		keyspace.Dataset
		Peer  view.UID
		Count uint64 // since the member came
	}
)

// Line implements Event.
func (e CaughtUp) Line() Line {
	return line(slog.LevelInfo, "caught up", slog.String("role", e.Role), slog.String("data", e.Kind()))
}

// Line implements Event.
func (e MajorityLost) Line() Line {
	return line(slog.LevelError, "a majority of an older view is gone for good: what only it held is lost",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("settled", e.Settled.String()))
}

// Line implements Event.
func (e RepairBegan) Line() Line {
	return line(slog.LevelInfo, "repair began",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("space", e.Space.String()), slog.String("peer", e.Peer.String()))
}

// Line implements Event.
func (e RepairEnded) Line() Line {
	return line(slog.LevelInfo, "repair ended",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("space", e.Space.String()), slog.String("peer", e.Peer.String()),
		slog.String("state", e.State.String()), slog.Uint64("items", e.Items), slog.Duration("took", e.Took))
}

// Line implements Event.
func (e WritersHeld) Line() Line {
	return line(slog.LevelWarn, "writers wait for a member that is far behind",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("space", e.Space.String()),
		slog.String("peer", e.Peer.String()), slog.Int("held", e.Held))
}

// Line implements Event.
func (e KeyLarge) Line() Line {
	return line(slog.LevelWarn, "a key has grown large",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("key", e.Key), slog.Int("bytes", e.Bytes))
}

// Line implements Event.
func (e Diverged) Line() Line {
	return line(slog.LevelError, "two replicas held different values of one write, which only damage in memory, "+
		"on the wire or on disk can bring about; "+
		"all keep the same one now",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("key", e.Key), slog.Any("dot", e.Dot),
		slog.String("peer", e.Peer.String()), slog.Int("dots", e.Dots))
}

// Line implements Event.
func (e PeerMalformed) Line() Line {
	return line(slog.LevelWarn, "messages of a node make no sense and are dropped: it runs another version, or "+
		"the network damages them",
		slog.String("role", e.Role), slog.String("data", e.Kind()),
		slog.String("peer", e.Peer.String()), slog.Uint64("count", e.Count))
}
