package story_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest"
)

// read is all that Read yields, and its error.
func read(r io.Reader) (all []story.Record, err error) {
	for r, err := range story.Read(r) {
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

var samples = []story.Record{
	{Time: 1, Kind: story.Started, Node: "n0", Incarnation: "1", Text: "START"},
	{Time: 2, Kind: story.Sent, Node: "n0", Incarnation: "1", Peer: "n1", Message: "18446744073709551615",
		Type: "Cart", ID: "</script><b>\u2028", Keys: []string{"k1", "k\"2"}, Text: "two\nlines"},
	{Time: 1_700_000_000_123_456_789, Kind: story.Violation, Text: "no entity twice: x"},
}

// Records come back from their lines as they were.
func TestLines(t *testing.T) {
	var file bytes.Buffer
	if err := story.Write(&file, samples); err != nil {
		t.Fatal(err)
	}
	got, err := read(&file)
	if err != nil || !reflect.DeepEqual(got, samples) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Bytes that are no line end the reading with an error that says where. What stood before is there.
func TestBadLines(t *testing.T) {
	good := `{"t":1,"kind":"step","of":"the future"}` + "\n"
	for name, bad := range map[string]string{ // order: each by itself
		"cut off":      `{"t":1,"kind":"step"}`,
		"kind":         `{"t":1,"kind":"dream"}` + "\n",
		"no object":    "[]\n",
		"empty":        "\n",
		"two":          `{"t":1}{"t":2}` + "\n",
		"too long":     `{"text":"` + strings.Repeat("x", story.LineMax) + `"}` + "\n",
		"without ends": strings.Repeat("x", 2*story.LineMax),
	} {
		got, err := read(strings.NewReader(good + good + bad + good))
		if len(got) != 2 || err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
	}
	broken := io.MultiReader(strings.NewReader(good), failing{})
	if got, err := read(broken); len(got) != 1 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("%d records, %v", len(got), err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrClosed }

// What is too long is cut, at the end of a character, and the line can be read.
func TestLongRecords(t *testing.T) {
	long := strings.Repeat("\x00ü", story.LineMax)
	keys := make([]string, story.LineMax)
	r := story.Record{
		Kind: 77, Node: long, Incarnation: long, Peer: long, Message: long, Type: long, ID: long, Keys: keys,
		Text: long,
	}
	for i := range r.Keys {
		r.Keys[i] = long
	}
	line := story.Append(nil, r)
	got, err := read(bytes.NewReader(line))
	if err != nil || len(line) > story.LineMax || len(got) != 1 {
		t.Fatalf("%d bytes: %v", len(line), err)
	}
	if g := got[0]; g.Kind != story.Note || len(g.Text) > story.TextMax || len(g.Text) < story.TextMax-4 ||
		!strings.HasSuffix(g.Node, "ü…") && !strings.HasSuffix(g.Node, "\x00…") || len(g.Keys) != story.KeysMax {
		t.Errorf("%q", g.Node)
	}
	if len(r.Keys) != story.LineMax || r.Keys[0] != long {
		t.Error("the record has changed")
	}
}

// A full log gives up the oldest steps and messages, and keeps what is rare, in order.
func TestLog(t *testing.T) {
	l := story.NewLog(3)
	for i := range int64(10) {
		l.Record(story.Record{Time: 2 * i, Kind: story.Step})
		if i < 4 {
			l.Record(story.Record{Time: 2*i + 1, Kind: story.Fault})
		}
	}
	l.Record(story.Record{Time: 99, Kind: story.Violation})
	var times []int64
	for _, r := range l.Records() {
		times = append(times, r.Time)
	}
	if !slices.Equal(times, []int64{1, 3, 5, 14, 16, 18, 99}) || l.Left() != 8 {
		t.Errorf("%v, %d left", times, l.Left())
	}
}

// The stories of nodes are merged by their clocks, but no message arrives before it was sent.
func TestMerge(t *testing.T) {
	at := func(time int64, kind story.Kind, node, message string) story.Record {
		return story.Record{Time: time, Kind: kind, Node: node, Message: message}
	}
	a := []story.Record{at(10, story.Step, "a", ""), at(20, story.Sent, "a", "m"), at(40, story.Received, "a", "r")}
	b := []story.Record{ // whose clock is late
		at(12, story.Received, "b", "m"), at(13, story.Sent, "b", "r"), at(14, story.Received, "b", "from elsewhere"),
	}
	want := []story.Record{a[0], a[1], b[0], b[1], b[2], a[2]}
	if got := story.Merge(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	liar := []story.Record{at(5, story.Received, "c", "x"), at(6, story.Sent, "c", "x")}
	if got := story.Merge(nil, liar); !reflect.DeepEqual(got, liar) {
		t.Errorf("%+v", got)
	}
}

// Reading costs no more than its input, whatever that claims.
func TestReadingIsFrugal(t *testing.T) {
	many := []byte(`{"keys":[` + strings.Repeat(`"",`, 40) + `""]}` + "\n")
	deep := []byte(strings.Repeat("[", 100) + "\n")
	proptest.Frugal(t, 40, func(b []byte) {
		for range story.Read(bytes.NewReader(b)) {
		}
	}, story.Append(nil, samples[1]), many, deep)
}

// FuzzRead: whatever is read has a line, which reads as the same record.
func FuzzRead(f *testing.F) {
	for _, r := range samples {
		f.Add(story.Append(nil, r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for r, err := range story.Read(bytes.NewReader(b)) {
			if err != nil {
				continue
			}
			line := story.Append(nil, r)
			again, err := read(bytes.NewReader(line))
			if err != nil || len(again) != 1 || len(line) > story.LineMax {
				t.Fatalf("%q becomes %v, %v", line, again, err)
			}
			if second := story.Append(nil, again[0]); !bytes.Equal(second, line) {
				t.Fatalf("%q becomes %q", line, second)
			}
		}
	})
}
