package persistencetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// strangeIDs are ids of entities that an adapter may stumble over.
var strangeIDs = []protocol.EntityID{
	"", " ", "a", "A", "a ", "a/b", "a\x00", "a\x00b", "\x00", "é", "e\u0301", "\xff\xfe", "'; --", "%", "\\", "0",
	protocol.EntityID(strings.Repeat("x", 511)), protocol.EntityID(strings.Repeat("x", 512)),
	protocol.EntityID(make([]byte, 512)),
}

// start is a time with a fraction that ends with microseconds, outside of UTC.
var start = time.Date(2026, 3, 29, 1, 59, 59, 123456000, time.FixedZone("", 3600))

// write makes a write of events with bodies.
func write(id protocol.EntityID, after, wid uint64, bodies ...string) persistence.Write {
	w := persistence.Write{Entity: id, After: after, ID: wid}
	for i, b := range bodies {
		w.Events = append(w.Events, event(after+uint64(i)+1, b))
	}
	return w
}

// event makes an event whose parts all depend on its number.
func event(seq uint64, body string) persistence.Event {
	e := persistence.Event{
		Seq: seq, Name: fmt.Sprint("name ", seq%3), Version: uint32(seq % 5), Body: []byte(body),
		At: start.Add(time.Duration(seq) * time.Microsecond),
	}
	if seq%2 == 0 {
		e.Tags = []string{"even", "é"}
	}
	return e
}

func sameEvent(a, b persistence.Event) bool {
	return a.Seq == b.Seq && a.Name == b.Name && a.Version == b.Version && bytes.Equal(a.Body, b.Body) &&
		slices.Equal(a.Tags, b.Tags) && a.At.Equal(b.At)
}

// cloneEvent keeps an event beyond the call of a function.
func cloneEvent(e persistence.Event) persistence.Event {
	e.Body, e.Tags = bytes.Clone(e.Body), slices.Clone(e.Tags)
	return e
}

// stored appends writes that must be stored, all of them.
func stored(t tb, d Door, h persistence.Hosting, writes ...persistence.Write) {
	t.Helper()
	refused, err := d.Journal.Append(t.Context(), h, writes)
	if err != nil || len(refused) > 0 {
		t.Fatalf("append: %v, refused %v", err, refused)
	}
}

// refusal appends one write that must be refused.
func refusal(t tb, d Door, h persistence.Hosting, w persistence.Write, want error) {
	t.Helper()
	refused, err := d.Journal.Append(t.Context(), h, []persistence.Write{w})
	if err != nil || len(refused) != 1 || refused[0].Index != 0 {
		t.Fatalf("append: %v, refused %v; want a refusal with %v", err, refused, want)
	}
	is(t, "refusal", refused[0].Err, want)
}

// load returns the events of one entity after a number, and checks what holds of every answer.
func load(
	t tb, d Door, h persistence.Hosting, id protocol.EntityID, after uint64,
) (events []persistence.Event, end persistence.End) {
	t.Helper()
	ends, err := d.Journal.Load(t.Context(), h, []persistence.Read{{Entity: id, After: after}},
		func(i int, e persistence.Event) error {
			if i != 0 {
				t.Fatalf("an event of read %d of 1", i)
			}
			events = append(events, cloneEvent(e))
			return nil
		})
	if err != nil || len(ends) != 1 {
		t.Fatalf("load of %v: %d ends, %v", id, len(ends), err)
	}
	for i, e := range events {
		if want := max(after, ends[0].Deleted) + uint64(i) + 1; e.Seq != want {
			t.Fatalf("load of %v after %d: event %d has number %d, want %d", id, after, i, e.Seq, want)
		}
	}
	return events, ends[0]
}

// want fails the law unless an entity has events with these bodies behind what was deleted.
func want(t tb, d Door, h persistence.Hosting, id protocol.EntityID, deleted uint64, bodies ...string) {
	t.Helper()
	events, end := load(t, d, h, id, 0)
	got := []string{}
	for _, e := range events {
		got = append(got, string(e.Body))
	}
	if !slices.Equal(got, bodies) && len(got)+len(bodies) > 0 {
		t.Fatalf("entity %v has %.200q, want %.200q", id, got, bodies)
	}
	if w := (persistence.End{Deleted: deleted, Last: deleted + uint64(len(bodies))}); end != w {
		t.Fatalf("entity %v ends with %+v, want %+v", id, end, w)
	}
}
