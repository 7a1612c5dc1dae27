package timeline

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// told is an event as extensions have them: of many kinds, named by an attribute.
type told struct {
	level slog.Level
	what  string
}

func (e told) Line() events.Line {
	return events.Line{Level: e.level, Message: "sharding", Attrs: []slog.Attr{slog.String("event", e.what)}}
}

func (e told) String() string { return e.Line().String() }

// plenty is room for all events of a test.
const plenty = 1 << 20

// The ring keeps the latest, numbers all, and forgets what is for debugging.
func TestRing(t *testing.T) {
	now := time.Unix(1000, 0)
	l := New("n1", 3, func() time.Time { now = now.Add(time.Second); return now })
	if got := l.Latest(10, plenty); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for i, what := range []string{"a", "b!", "c 1", "d", "e"} {
		l.Tell(told{slog.LevelInfo, what})
		l.Tell(told{slog.LevelDebug, "not kept"})
		if got := l.Latest(10, plenty); len(got) != min(3, i+1) || got[len(got)-1].Seq != uint64(i+1) {
			t.Fatalf("after %d: %v", i+1, got)
		}
	}
	got := l.Latest(2, plenty)
	if len(got) != 2 || got[0].Kind != "d" || got[1].Kind != "e" || got[0].Seq != 4 || got[1].Node != "n1" ||
		!got[0].At.Before(got[1].At) {
		t.Errorf("%+v", got)
	}
	if got := l.Latest(-1, plenty); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// For which members a retirement waits is told until it has ended, or is not said again.
func TestRetirementWaits(t *testing.T) {
	now := time.Unix(1000, 0)
	l := New("n1", 9, func() time.Time { return now })
	v := &view.View{Ages: &view.Ages{}}
	waits := func(want string) {
		t.Helper()
		if got := l.RetirementWaits(); got != want {
			t.Errorf("waits for %q, want %q", got, want)
		}
	}
	waits("")
	l.Tell(events.RetirementWaiting{View: v, Missing: "1@a:1"})
	waits("1@a:1")
	now = now.Add(waitsFor + time.Second)
	waits("")
	l.Tell(events.RetirementWaiting{View: v, Missing: "2@b:1"})
	waits("2@b:1")
	l.Tell(events.RetirementEnded{View: v})
	waits("")
}

// A kind is the name of the event's type, unless its line says more. A long text is cut.
func TestKinds(t *testing.T) {
	l := New("n1", 9, time.Now)
	l.Tell(events.CaughtUp{Dataset: keyspace.Dataset{Role: "r"}})
	l.Tell(told{slog.LevelWarn, "host-elsewhere! 3"})
	l.Tell(told{slog.LevelError, strings.Repeat("é", 3*textMax)})
	got := l.Latest(9, plenty)
	if got[0].Kind != "CaughtUp" || got[1].Kind != "host-elsewhere" || got[1].Level != "warn" ||
		got[2].Level != "error" {
		t.Errorf("%+v", got)
	}
	if n := len(got[2].Text); n > textMax+8 || !strings.HasSuffix(got[2].Text, "é…") {
		t.Errorf("%d bytes", n)
	}
}

// What is asked for in few bytes has the latest events that fit, whatever is escaped in them.
func TestRoom(t *testing.T) {
	l := New("n1", 9, time.Now)
	for range 9 {
		l.Tell(told{slog.LevelInfo, strings.Repeat("<", 100)})
	}
	all, err := json.Marshal(l.Latest(9, plenty))
	if err != nil {
		t.Fatal(err)
	}
	for room := range len(all) + 1 {
		got := l.Latest(9, room)
		if len(got) > 0 && got[len(got)-1].Seq != 9 {
			t.Fatalf("%d bytes: the latest is %d", room, got[len(got)-1].Seq)
		}
		if b, err := json.Marshal(got); err != nil || len(got) > 0 && len(b) > room {
			t.Fatalf("%d bytes, at most %d (%v)", len(b), room, err)
		}
	}
	if n := len(l.Latest(9, len(all)/2)); n != 4 {
		t.Errorf("%d events in half of the bytes", n)
	}
}

// Alarms are counted by kind, however many kinds there are.
func TestAlarms(t *testing.T) {
	now := time.Unix(1000, 0)
	l := New("n1", 2, func() time.Time { now = now.Add(time.Second); return now })
	for _, x := range []told{{slog.LevelInfo, "fine"}, {slog.LevelWarn, "b!"}, {slog.LevelError, "a"},
		{slog.LevelWarn, "b!"}} {
		l.Tell(x)
	}
	got := l.Alarms()
	if len(got) != 2 || got[0].Kind != "a" || got[0].Count != 1 || got[1].Kind != "b" || got[1].Count != 2 ||
		!got[1].Last.Equal(now) {
		t.Errorf("%+v", got)
	}
	for i := range 2 * kindsMax {
		l.Tell(told{slog.LevelWarn, fmt.Sprint("k", i)})
	}
	if got := l.Alarms(); len(got) != kindsMax+1 || !slices.ContainsFunc(got, func(a api.Alarm) bool {
		return a.Kind == otherKinds && a.Count == kindsMax+2
	}) {
		t.Errorf("%d kinds", len(got))
	}
}
