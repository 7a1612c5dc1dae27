package events

import (
	"log/slog"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Events of the transport.
type (
	// LinkUp: a connection of this node to a member, in one lane and stripe, is made.
	LinkUp struct{ Link transport.LinkEvent }
	// LinkDown: such a connection ended; it is made anew as long as the member is one.
	LinkDown struct{ Link transport.LinkEvent }
	// ConnectionRefused: this node refused a connection, or another refused this node's.
	ConnectionRefused struct{ Refusal transport.Refusal }
	// ConnectionFault: a connection ended, or cannot be made, or its other side broke the protocol.
	ConnectionFault struct{ Fault transport.ConnectionFault }
	// FramesDropped: frames or connections were given up since that was said last, a second ago or
	// more.
	FramesDropped struct {
		Reason transport.Drop
		Count  uint64
	}
	// MessageUnsent: a message of the membership, of a Replicator or of a singleton found no room
	// or no receiver; it is repeated where it has to be.
	MessageUnsent struct {
		What string // "membership", "replicator", "singleton"
		To   string // receiver and message
		Err  error
	}
	// MessageMalformed: bytes from another node are no message.
	MessageMalformed struct {
		What string // "membership", "replicator", "singleton"
		Peer view.UID
		Err  error
	}
)

// Line implements Event.
func (e LinkUp) Line() Line {
	return line(slog.LevelDebug, "link up", slog.String("link", e.Link.String()))
}

// Line implements Event.
func (e LinkDown) Line() Line {
	return line(slog.LevelDebug, "link down", slog.String("link", e.Link.String()))
}

// Line implements Event.
func (e ConnectionRefused) Line() Line {
	return line(warnIf(e.Refusal.Loud, slog.LevelDebug), "connection refused", slog.String("event", e.Refusal.String()))
}

// Line implements Event.
func (e ConnectionFault) Line() Line {
	return line(warnIf(e.Fault.Loud, slog.LevelDebug), "connection fault", slog.String("event", e.Fault.String()))
}

// Line implements Event. A full Control queue and a frame that is too large are warnings: what has
// to arrive does not.
func (e FramesDropped) Line() Line {
	loud := e.Reason == transport.DropQueueFullControl || e.Reason == transport.DropTooLarge
	return line(warnIf(loud, slog.LevelDebug), "frames dropped",
		slog.String("reason", e.Reason.String()), slog.Uint64("count", e.Count))
}

var (
	_ Loss = FramesDropped{}
	_ Loss = MessageUnsent{}
)

// Lost implements Loss.
func (e FramesDropped) Lost() uint64 { return e.Count }

// Lost implements Loss.
func (e MessageUnsent) Lost() uint64 { return 1 }

// Line implements Event.
func (e MessageUnsent) Line() Line {
	return line(slog.LevelDebug, "message not sent",
		slog.String("of", e.What), slog.String("to", e.To), slog.Any("err", e.Err))
}

// Line implements Event.
func (e MessageMalformed) Line() Line {
	return line(slog.LevelDebug, "malformed message",
		slog.String("of", e.What), slog.String("peer", e.Peer.String()), slog.Any("err", e.Err))
}
