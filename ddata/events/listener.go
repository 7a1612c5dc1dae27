package events

import (
	"context"
	"log/slog"
)

// Listener hears of what happens on a node, one event a call. It switches on the types that it
// wants; see the table in design.md for when each comes. The events of the layers above,
// such as package sharding, come too.
//
//	OnEvent: func(e events.Event) {
//		switch e := e.(type) {
//		case events.MemberUp:
//			…
//		case events.NodeEnded:
//			…
//		}
//	}
//
// It is called by the goroutine that saw the event, so the events of one source come in order: the
// membership (view, members, lease, oldest, waiting, downed, dropped frames), each Singleton,
// discovery, each Replicator, each link, the listener's port, the store, and the end of the node;
// those of gossip come from several. Events of different sources may come at the same time. A
// Listener must be quick, for the source waits: one that takes as long as a lease for an event of
// the membership costs the lease, and one of a Replicator holds up its callers. Only NodeEnded and
// ShutdownPhase may block, which delays the end. It may ask the node for its View, Members, Lease
// and Health, and must not wait for the node in another way. A Feed is a Listener for a loop that
// takes its time. A panic is logged.
type Listener func(Event)

// Log returns a listener that writes every event to a logger, one line each.
func Log(log *slog.Logger) Listener {
	return func(e Event) {
		ctx := context.Background()
		l := e.Line()
		if log.Enabled(ctx, l.Level) {
			log.LogAttrs(ctx, l.Level, l.Message, l.Attrs...)
		}
	}
}
