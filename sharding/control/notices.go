package control

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Event is what the control plane of a type notes. It goes to the node's log, and to EntityType.OnEvent
// and ddata.Config.OnEvent: an alarm, and what becomes one if it goes on, as a warning; the end of such a
// warning as information; others at debug.
type Event struct {
	Type string
	What protocol.Event
}

var _ events.Event = Event{}

// Line implements events.Event.
func (e Event) Line() events.Line {
	level := slog.LevelDebug
	switch {
	case e.What.Warning():
		level = slog.LevelWarn
	case e.What.Resumed():
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.String("type", e.Type), slog.String("event", e.What.String())}
	if e.What.Stack != "" {
		attrs = append(attrs, slog.String("stack", e.What.Stack))
	}
	return events.Line{Level: level, Message: "sharding", Attrs: attrs}
}

// String prints the line.
func (e Event) String() string { return e.Line().String() }

// notices count the events of a region's machines, and tell of them. Any goroutine may use them.
type notices struct {
	typ    string // the entity type's name
	log    *slog.Logger
	emit   func(events.Event) // nil: the log takes it
	hook   events.Listener    // the type's; nil: none
	meters *dataplane.Meters  // nil: there is no Meter

	counts [protocol.EventEnd]atomic.Uint64

	lastMove, longestMove atomic.Int64 // nanoseconds, of the moves that this node's coordinator has seen end
}

// Count is how often an event of a kind was noted.
func (n *notices) Count(kind protocol.EventKind) uint64 { return n.counts[kind].Load() }

// Moves is how long the last move and the longest one took, among the moves that this node's
// coordinator has seen end.
func (n *notices) Moves() (last, longest time.Duration) {
	return time.Duration(n.lastMove.Load()), time.Duration(n.longestMove.Load())
}

// moved notes how long a move took; 0: that is not known. The coordinator's goroutine alone calls it.
func (n *notices) moved(took time.Duration) {
	if took > 0 {
		n.lastMove.Store(int64(took))
		n.longestMove.Store(max(n.longestMove.Load(), int64(took)))
	}
}

// notify counts an event and tells of it.
func (n *notices) notify(e protocol.Event) {
	n.counts[e.Kind].Add(1)
	n.meters.Noted(e)
	if e.Kind == protocol.ShardMoved {
		n.moved(e.Took)
	}
	what := Event{n.typ, e}
	n.Tell(what)
	if n.hook != nil {
		n.hook(what)
	}
}

// Tell hands an event to the node, or to the log where there is no way to.
func (n *notices) Tell(e events.Event) {
	if n.emit != nil {
		n.emit(e)
		return
	}
	l := e.Line()
	n.log.LogAttrs(context.Background(), l.Level, l.Message, l.Attrs...)
}

// mNoted counts events by kind.
var mNoted = &events.Metric{
	Name: "coterie_sharding_events_total", Help: "What the control plane has noted.", Labels: []string{"type", "event"},
}

// Report tells a Meter of the events.
func (n *notices) Report(report func(*events.Metric, float64, ...string)) {
	for kind := range n.counts {
		if kind > 0 {
			report(mNoted, float64(n.counts[kind].Load()), n.typ, protocol.EventKind(kind).String())
		}
	}
}

// Drained is the event of a node that has handed over all shards of Type, as an operator has wanted by the
// console. The node hosts none of the type until the type, or the node, is started again.
type Drained struct {
	Type string
	Took time.Duration // since the operator has wanted it
}

var _ events.Event = Drained{}

// Line implements events.Event.
func (e Drained) Line() events.Line {
	return events.Line{Level: slog.LevelInfo, Message: "all shards were handed over", Attrs: []slog.Attr{
		slog.String("type", e.Type), slog.Duration("took", e.Took),
	}}
}

// String prints the line.
func (e Drained) String() string { return e.Line().String() }
