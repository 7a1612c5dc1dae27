package recorder

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// A header is a CBOR array of the number of the message and the name of the node that has sent it:
//
//	[number, "node"]

var _ tracing.Tracer = (*Recorder)(nil)

type contextKey struct{}

// arrival is what a header says of a message.
type arrival struct {
	message uint64
	from    string
}

// Start implements tracing.Tracer.
func (r *Recorder) Start(ctx context.Context, kind tracing.Kind, name string) (context.Context, tracing.Span) {
	s := &span{r: r, kind: kind, name: name, began: r.now()}
	s.arrived, _ = ctx.Value(contextKey{}).(arrival)
	return context.WithValue(ctx, contextKey{}, s), s
}

// Inject implements tracing.Tracer. The message of the span of ctx is sent with that.
func (r *Recorder) Inject(ctx context.Context, dst []byte) []byte {
	s, _ := ctx.Value(contextKey{}).(*span)
	if s == nil {
		return dst
	}
	return cbor.AppendText(cbor.AppendUints(cbor.AppendArray(dst, 2), s.send()), r.node)
}

// errHeader: the bytes of a header are none.
var errHeader = errors.New("recorder: no header")

// Extract implements tracing.Tracer.
func (r *Recorder) Extract(ctx context.Context, header []byte) (context.Context, error) {
	rd := cbor.NewReader(header)
	rd.Tuple(2)
	a := arrival{rd.Uint(), rd.Text(nodeMax)}
	if err := rd.End(); err != nil {
		return ctx, errors.Join(errHeader, err)
	}
	return context.WithValue(ctx, contextKey{}, a), nil
}

// span is one that has begun.
type span struct {
	r       *Recorder
	kind    tracing.Kind
	name    string
	began   time.Time
	arrived arrival // zero: it is for no message

	mu    sync.Mutex
	about story.Record // the entity, the keys, and the attributes in its text
	told  bool         // that the message has arrived
	sent  uint64       // the message that was sent; 0: none was
}

// nameOf is the name of a message in a story.
func nameOf(message uint64) string { return strconv.FormatUint(message, 36) }

// answerTo is the name of the answer to a message.
func answerTo(message uint64) string { return nameOf(message) + "/answer" }

// Records implements tracing.Span.
func (s *span) Records() bool { return true }

// Add implements tracing.Span.
func (s *span) Add(attrs ...slog.Attr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range attrs {
		switch value := a.Value.String(); a.Key {
		case "messaging.destination.name":
			s.about.Type = value
		case "coterie.entity.id":
			s.about.ID = value
		case "coterie.key":
			s.about.Keys = []string{value}
		case "coterie.shard":
			s.about.Text += " shard " + value
		case "coterie.message.type", "coterie.consistency":
			s.about.Text += " " + value
		}
	}
	s.arrive()
}

// record records something about the span. The lock is held.
func (s *span) record(kind story.Kind, peer, message, text string) {
	rec := s.about
	rec.Kind, rec.Peer, rec.Message, rec.Text = kind, peer, message, text
	s.r.Record(rec)
}

// takes reports whether the span is of what a message comes to.
func (s *span) takes() bool {
	return s.arrived.message != 0 && (s.kind == tracing.Consumer || s.kind == tracing.Server)
}

// arrive records, once, that the message of the span has arrived. The lock is held.
func (s *span) arrive() {
	if s.takes() && !s.told {
		s.told = true
		what := "a message: "
		if s.kind == tracing.Server {
			what = "a question: "
		}
		s.record(story.Received, s.arrived.from, nameOf(s.arrived.message), what+s.name+s.about.Text)
	}
}

// send records that a message is sent, and returns its number.
func (s *span) send() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = max(1, rand.Uint64())
	s.record(story.Sent, "", nameOf(s.sent), s.name+s.about.Text)
	return s.sent
}

// End implements tracing.Span.
func (s *span) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrive()
	took := s.r.now().Sub(s.began).Round(time.Microsecond).String()
	switch {
	case err != nil:
		s.record(story.Fault, "", "", s.name+s.about.Text+" failed after "+took+": "+err.Error())
	case s.takes() && s.kind == tracing.Server:
		s.record(story.Sent, s.arrived.from, answerTo(s.arrived.message), "the answer: "+s.name+" took "+took)
	case s.takes():
	case s.sent != 0 && s.kind == tracing.Client:
		s.record(story.Received, "", answerTo(s.sent), "the answer: "+s.name+" took "+took)
	case s.sent == 0:
		s.record(story.Step, "", "", s.name+s.about.Text+" took "+took)
	}
}
