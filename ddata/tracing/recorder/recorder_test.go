package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told closes a Recorder and returns its story.
func told(t *testing.T, r *Recorder, out *bytes.Buffer) (all []story.Record) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for rec, err := range story.Read(out) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

// brief prints records without what differs from run to run.
func brief(all []story.Record) (lines []string) {
	for _, r := range all {
		text, _, _ := strings.Cut(r.Text, " took ")
		text, _, _ = strings.Cut(text, " after ")
		lines = append(lines, fmt.Sprint(r.Kind, " ", r.Node, "<", r.Peer, " ", r.Type, "/", r.ID, r.Keys, " ", text))
	}
	return lines
}

var ofCart = []slog.Attr{
	slog.String("messaging.destination.name", "Cart"), slog.String("coterie.entity.id", "c1"),
	slog.Int("coterie.shard", 7), slog.String("coterie.message.type", "shop.Add"),
}

// begin begins a span that says what it is of.
func begin(ctx context.Context, r *Recorder, kind tracing.Kind, name string) (context.Context, tracing.Span) {
	ctx, s := r.Start(ctx, kind, name)
	s.Add(ofCart...)
	return ctx, s
}

// A question goes from node to node, and its answer comes back: each end has the name of the message.
func TestMessages(t *testing.T) {
	var outA, outB bytes.Buffer
	a, b := New(Config{Node: "a", Out: &outA}), New(Config{Node: "b", Out: &outB})
	ctx, ask := begin(context.Background(), a, tracing.Client, "ask Cart")
	there, err := b.Extract(context.Background(), a.Inject(ctx, nil))
	if err != nil {
		t.Fatal(err)
	}
	there, answer := begin(there, b, tracing.Server, "answer Cart")
	_, save := b.Start(there, tracing.Client, "save Cart")
	save.End(nil)
	_, failing := begin(there, b, tracing.Internal, "buffer Cart")
	failing.End(errors.New("full"))
	answer.End(nil)
	ask.End(nil)
	toldA, toldB := told(t, a, &outA), told(t, b, &outB)
	if got := brief(toldA); !slices.Equal(got, []string{
		"started a< /[] recording", "sent a< Cart/c1[] ask Cart shard 7 shop.Add",
		"received a< Cart/c1[] the answer: ask Cart",
	}) {
		t.Errorf("%q", got)
	}
	if got := brief(toldB); !slices.Equal(got, []string{
		"started b< /[] recording", "received b<a Cart/c1[] a question: answer Cart shard 7 shop.Add",
		"step b< /[] save Cart",
		"fault b< Cart/c1[] buffer Cart shard 7 shop.Add failed", "sent b<a Cart/c1[] the answer: answer Cart",
	}) {
		t.Errorf("%q", got)
	}
	if toldA[1].Message != toldB[1].Message || toldA[2].Message != toldB[4].Message || toldA[1].Message == "" ||
		toldA[2].Message == toldA[1].Message {
		t.Errorf("the ends do not fit:\n%+v\n%+v", toldA, toldB)
	}
}

// What has no message is a step: an update of a key, a reminder; a handler of a message that was told is not.
func TestSteps(t *testing.T) {
	var out bytes.Buffer
	r := New(Config{Node: "a", Out: &out})
	_, update := r.Start(context.Background(), tracing.Client, "update default")
	update.Add(slog.String("coterie.key", "hits"), slog.String("coterie.consistency", "Majority"))
	update.End(nil)
	ctx, tell := begin(context.Background(), r, tracing.Producer, "tell Cart")
	here, err := r.Extract(context.Background(), r.Inject(ctx, nil))
	if err != nil {
		t.Fatal(err)
	}
	tell.End(nil)
	_, receive := begin(here, r, tracing.Consumer, "receive Cart")
	receive.End(nil)
	if b := r.Inject(context.Background(), []byte("x")); string(b) != "x" {
		t.Errorf("a header without a span: %q", b)
	}
	if got := brief(told(t, r, &out)); !slices.Equal(got[1:], []string{
		"step a< /[hits] update default Majority", "sent a< Cart/c1[] tell Cart shard 7 shop.Add",
		"received a<a Cart/c1[] a message: receive Cart shard 7 shop.Add",
	}) {
		t.Errorf("%q", got)
	}
}

// loss is an event of a type of entities.
type loss struct{ level slog.Level }

func (l loss) Line() events.Line {
	return events.Line{Level: l.level, Message: "x", Attrs: []slog.Attr{
		slog.String("type", "Cart"), slog.String("id", "c1"), slog.String("key", "k"),
	}}
}
func (l loss) String() string { return l.Line().Message }
func (loss) Lost() uint64     { return 1 }

// other is the same, and no loss.
type other struct{ loss }

func (other) Lost() {}

// Events have the kind of their level, and what they are about.
func TestEvents(t *testing.T) {
	var out bytes.Buffer
	r := New(Config{Node: "a", Out: &out})
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		r.Event(other{loss{level}})
		r.TypeEvent(other{loss{level}})
	}
	r.TypeEvent(loss{})
	r.Event(events.NodeEnded{Err: errors.New("left")})
	const about = " a< Cart/c1[k] x"
	got := brief(told(t, r, &out))[1:]
	end := got[len(got)-1]
	if !slices.Equal(got[:len(got)-1], []string{
		"step" + about, "note" + about, "fault" + about, "fault" + about, "fault" + about, "lost" + about,
	}) || !strings.HasPrefix(end, "ended a< /[] ") {
		t.Errorf("%q", got)
	}
}

// gate is a writer that waits until it is opened.
type gate struct {
	bytes.Buffer
	reached, open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	select {
	case g.reached <- struct{}{}:
		<-g.open
	case <-g.open:
	}
	return g.Buffer.Write(b)
}

// A node does not wait for its story: what finds no room is dropped, and counted where it is missing.
func TestDropped(t *testing.T) {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	r := New(Config{Node: "a", Out: g, Waiting: 5})
	<-g.reached
	for range 100 {
		r.Record(story.Record{Text: "x"})
	}
	dropped := r.Dropped()
	close(g.open)
	all := told(t, r, &g.Buffer)
	missing := slices.IndexFunc(all, func(r story.Record) bool { return r.Kind == story.Note })
	if dropped != 95 || missing < 0 || all[missing].Text != fmt.Sprintf("%d records were dropped about here", dropped) {
		t.Errorf("%d dropped, the story is %q", dropped, brief(all))
	}
	if len(all) != 7 { // with the start and the note
		t.Errorf("%q", brief(all))
	}
}

// The first error of the writer is that of Close, and all from there on is dropped.
func TestBrokenWriter(t *testing.T) {
	out, err := Create(filepath.Join(t.TempDir(), "x"), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	r := New(Config{Node: strings.Repeat("n", 2*nodeMax), Out: out})
	r.Record(story.Record{})
	if err := r.Close(); !errors.Is(err, os.ErrClosed) || r.Dropped() != 2 || len(r.node) != nodeMax {
		t.Errorf("%v, %d dropped", err, r.Dropped())
	}
}

// A File has what was written last, as whole lines, in at most so many bytes.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n1")
	f, err := Create(path, 60)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := fmt.Fprintf(f, "line number %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{ // order: each by itself
		path: "line number 8\nline number 9\n", path + OlderSuffix: "line number 6\nline number 7\n",
	} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := Create(path, 60); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + OlderSuffix); !os.IsNotExist(err) {
		t.Errorf("the older file: %v", err)
	}
}

// Headers of strangers cost no more than their size.
func TestHeadersAreFrugal(t *testing.T) {
	r := &Recorder{node: "n1"}
	seed := []byte{0x82, 0x1b, 1, 2, 3, 4, 5, 6, 7, 8, 0x62, 'n', '1'}
	if _, err := r.Extract(context.Background(), seed); err != nil {
		t.Fatal(err)
	}
	proptest.Frugal(t, 20, func(b []byte) { _, _ = r.Extract(context.Background(), b) }, seed)
}

// FuzzHeader: bytes are a header with a node and a message, or an error.
func FuzzHeader(f *testing.F) {
	f.Add([]byte{0x82, 1, 0x62, 'n', '1'})
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx, err := (&Recorder{}).Extract(context.Background(), b)
		if a, ok := ctx.Value(contextKey{}).(arrival); ok == (err != nil) || len(a.from) > nodeMax {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// Without a place to write to, all is dropped and counted, and Close says why.
func TestNoOut(t *testing.T) {
	r := New(Config{Node: "n"})
	r.Record(story.Record{Kind: story.Note, Text: "x"})
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "Config.Out") {
		t.Errorf("closed with %v", err)
	}
	if n := r.Dropped(); n != 2 { // with that of its start
		t.Errorf("%d records were dropped", n)
	}
}
