package timeline

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/events"
)

// textMax bounds what is kept of an event, in bytes.
const textMax = 2 << 10

// kindAttr is the attribute by which events of one type that are of many kinds name theirs.
const kindAttr = "event"

// Timeline is the ring. It may be used from any goroutine.
//
// Invariant: ring holds the events with the numbers last-len(ring)+1 to last, each at its number
// modulo size.
type Timeline struct {
	node  string
	size  uint64
	clock func() time.Time

	mu     sync.Mutex
	ring   []api.Event
	last   uint64
	alarms map[string]api.Alarm // by kind, kindsMax at most
	waits  string               // the members for which a retirement waits, as this node said at waitAt
	waitAt time.Time
}

// waitsFor is how long it counts that a retirement waits: it is said again each minute.
const waitsFor = 90 * time.Second

// kindsMax bounds the kinds of alarms that are counted one by one; those beyond are counted together.
const kindsMax = 200

// otherKinds is the kind of those beyond kindsMax.
const otherKinds = "other"

// New makes one that keeps size events of a node, at least one.
func New(node string, size int, clock func() time.Time) *Timeline {
	return &Timeline{node: node, size: uint64(max(1, size)), clock: clock, alarms: map[string]api.Alarm{}}
}

var _ events.Listener = (&Timeline{}).Tell

// Tell takes an event. What is told below info is for debugging, and is not kept.
func (t *Timeline) Tell(e events.Event) {
	l := e.Line()
	if l.Level < slog.LevelInfo {
		return
	}
	x := api.Event{
		Node: t.node, At: t.clock().UTC(), Level: strings.ToLower(l.Level.String()), Kind: kindOf(e, l),
		Text: Clip(l.String(), textMax),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	x.Seq = t.last
	if uint64(len(t.ring)) < t.size {
		t.ring = append(t.ring, api.Event{})
	}
	t.ring[(t.last-1)%t.size] = x
	switch e := e.(type) {
	case events.RetirementWaiting:
		t.waits, t.waitAt = Clip(e.Missing, textMax), x.At
	case events.RetirementEnded:
		t.waits = ""
	}
	if l.Level >= slog.LevelWarn {
		t.alarm(x)
	}
}

// alarm counts an alarm. The caller holds mu.
func (t *Timeline) alarm(x api.Event) {
	kind := x.Kind
	if _, known := t.alarms[kind]; !known && len(t.alarms) >= kindsMax {
		kind = otherKinds
	}
	t.alarms[kind] = api.Alarm{Kind: kind, Count: t.alarms[kind].Count + 1, Last: x.At}
}

// Alarms counts the events that are warnings or errors, by kind, since New. The slice is the caller's.
func (t *Timeline) Alarms() []api.Alarm {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.alarms), func(a, b api.Alarm) int { return cmp.Compare(a.Kind, b.Kind) })
}

// RetirementWaits names the members for which a retirement waits, if this node has said so lately.
func (t *Timeline) RetirementWaits() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clock().Sub(t.waitAt) > waitsFor {
		return ""
	}
	return t.waits
}

// Latest is the last n events, the oldest first. In JSON they have at most a number of bytes: the oldest are
// missing if they do not fit. The slice is the caller's.
func (t *Timeline) Latest(n, bytes int) []api.Event {
	all := t.copied(n)
	size := 2 // of the brackets
	for i := len(all) - 1; i >= 0; i-- {
		b, err := json.Marshal(all[i])
		if err != nil {
			panic("timeline: an event that is no JSON: " + err.Error())
		}
		if size += len(b) + 1; size > bytes { // and a comma
			return all[i+1:]
		}
	}
	return all
}

func (t *Timeline) copied(n int) []api.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := uint64(min(max(0, n), len(t.ring)))
	out := make([]api.Event, 0, k)
	for seq := t.last - k + 1; seq <= t.last; seq++ {
		out = append(out, t.ring[(seq-1)%t.size])
	}
	return out
}

// kindOf names the kind of an event: its type, or the first word of the attribute that says more.
func kindOf(e events.Event, l events.Line) string {
	for _, a := range l.Attrs {
		if a.Key == kindAttr {
			kind, _, _ := strings.Cut(a.Value.String(), " ")
			return strings.TrimSuffix(kind, "!")
		}
	}
	t := reflect.TypeOf(e)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// Clip cuts a text of more than most bytes at the end of a rune.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
