package batch

import (
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Place says at which call an event was noticed.
type Place struct {
	Type  string // of the entities
	Shard protocol.ShardID
	Call  string // what it did
	Took  time.Duration
}

func (p Place) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.String("type", p.Type), slog.Uint64("shard", uint64(p.Shard)), slog.String("call", p.Call),
		slog.Duration("took", p.Took),
	}, more...)
}

// StoreSlow is the event that calls of a store take longer than Settings.SlowAfter.
type StoreSlow struct{ Place }

// StoreFailing is the event that calls of a store have begun to fail.
type StoreFailing struct {
	Place
	Err error
}

// StoreBack is the event that a store that was slow or failing is neither any more.
type StoreBack struct{ Place }

// StoreHangs is the event that a call has not returned after its time-out. Its shard waits for it.
type StoreHangs struct{ Place }

// HostingFenced is the event that a later hosting of a shard has begun while this node still wrote.
type HostingFenced struct {
	Place
	Token string
}

// ClientBroken is the event that a client is broken. See ErrBroken.
type ClientBroken struct {
	Type  string // of the entities
	State string // of the machine
	Panic string
	Stack string
}

var (
	_ events.Event = StoreSlow{}
	_ events.Event = StoreFailing{}
	_ events.Event = StoreBack{}
	_ events.Event = StoreHangs{}
	_ events.Event = HostingFenced{}
	_ events.Event = ClientBroken{}
)

// Line implements events.Event.
func (e StoreSlow) Line() events.Line {
	return events.Line{Level: slog.LevelWarn, Message: "the store of entities is slow", Attrs: e.attrs()}
}

// Line implements events.Event.
func (e StoreFailing) Line() events.Line {
	return events.Line{Level: slog.LevelWarn, Message: "the store of entities fails",
		Attrs: e.attrs(slog.Any("error", e.Err))}
}

// Line implements events.Event.
func (e StoreBack) Line() events.Line {
	return events.Line{Level: slog.LevelInfo, Message: "the store of entities is back", Attrs: e.attrs()}
}

// Line implements events.Event.
func (e StoreHangs) Line() events.Line {
	return events.Line{Level: slog.LevelError, Message: "a call of the store of entities hangs", Attrs: e.attrs()}
}

// Line implements events.Event.
func (e HostingFenced) Line() events.Line {
	return events.Line{Level: slog.LevelWarn, Message: "a later hosting of a shard has begun",
		Attrs: e.attrs(slog.String("token", e.Token))}
}

// Line implements events.Event.
func (e ClientBroken) Line() events.Line {
	return events.Line{
		Level: slog.LevelError, Message: "the client of the store of entities is broken: start the node again",
		Attrs: []slog.Attr{
			slog.String("type", e.Type), slog.String("panic", e.Panic), slog.String("state", e.State),
			slog.String("stack", e.Stack),
		},
	}
}

// String implements events.Event.
func (e StoreSlow) String() string { return e.Line().String() }

// String implements events.Event.
func (e StoreFailing) String() string { return e.Line().String() }

// String implements events.Event.
func (e StoreBack) String() string { return e.Line().String() }

// String implements events.Event.
func (e StoreHangs) String() string { return e.Line().String() }

// String implements events.Event.
func (e HostingFenced) String() string { return e.Line().String() }

// String implements events.Event.
func (e ClientBroken) String() string { return e.Line().String() }

// event makes an event of what the machine tells.
func (c *Client) event(n calls.Notice) events.Event {
	p := Place{Type: c.cfg.Name, Shard: n.Call.Hosting.Shard, Call: n.Call.Kind.String(), Took: n.Took}
	switch n.Kind {
	case calls.Slow:
		return StoreSlow{p}
	case calls.Failing:
		return StoreFailing{p, n.Err}
	case calls.Back:
		return StoreBack{p}
	case calls.Hangs:
		return StoreHangs{p}
	default: // LostFence
		return HostingFenced{p, n.Call.Hosting.Token.String()}
	}
}
