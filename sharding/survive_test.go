package sharding

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/codec"
)

// brittle is decoded by code that believes the length, and encoded by code that believes the value.
type brittle struct{ X, Y byte }

func (brittle) command() {}

// MarshalCBOR panics on a zero X.
func (p brittle) MarshalCBOR() ([]byte, error) {
	return cbor.AppendBytes(nil, []byte{100 / p.X, p.Y}), nil
}

// UnmarshalCBOR panics on a short b.
func (p *brittle) UnmarshalCBOR(b []byte) error {
	p.X, p.Y = 100/b[1], b[2]
	return nil
}

// brittleAsk is answered with a brittle.
type brittleAsk struct {
	Returns[message_, brittle]
	X byte
}

func (brittleAsk) command() {}

// brittleEncoding is an Encoding that panics both ways.
type brittleEncoding struct{}

func (brittleEncoding) Name() string                       { return "brittle" }
func (brittleEncoding) Append([]byte, any) ([]byte, error) { panic("append") }
func (brittleEncoding) Decode([]byte, any) error           { panic("decode") }

var emptyBytes = cbor.AppendBytes(nil, "") // a byte string of no length: sound CBOR, and no brittle

func brittleType() EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](brittle{}, brittleAsk{}, total{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			if q, ok := m.(brittleAsk); ok {
				return c.Reply(brittle{X: q.X})
			}
			return c.Reply(1)
		})
	}
	return typ
}

// A decoder of the user's that panics on what another node sends costs that message, which is
// counted, and the asker is told; encoders likewise.
func TestCodecPanics(t *testing.T) {
	for name, c := range map[string]struct {
		typ  func() EntityType[message_]
		of   any
		body []byte
	}{
		"UnmarshalCBOR": {brittleType, brittle{}, emptyBytes},
		"Encoding.Decode": {func() EntityType[message_] {
			typ := brittleType()
			typ.Messages = Encoded[message_](brittleEncoding{}, brittle{}, total{})
			return typ
		}, brittle{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g, n := scriptedType(t, c.typ())
			r := g.plane
			mt, err := r.Registry.Of(c.of)
			if err != nil {
				t.Fatal(err)
			}
			body := c.body
			if r.Registry.Encoding != nil {
				body = []byte{codec.Mark(r.Registry.Encoding)}
			}
			for range 2 {
				r.Receive(7, asksFrame(r, "a", mt.ID, body))
			}
			if got := counted(r); !slices.Equal(got, []string{"codec panicked 2"}) ||
				len(n.frames) != 2 || g.Stats().Panics != 2 {
				t.Errorf("%v, %d answers, %d panics; want 2 of each", got, len(n.frames), g.Stats().Panics)
			}
			if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// scriptedType is a region that hosts everything, with a network that keeps its frames.
func scriptedType(t *testing.T, typ EntityType[message_], edits ...func(*Ports)) (*Region[message_], *scriptNet) {
	g, _ := localRegion(t, typ, edits...)
	n := &scriptNet{}
	g.plane.Out.Net = n
	return g, n
}

// Between two nodes: an encoder that panics is the sender's error, or the asker's when it is the
// handler's; so is the decoder of a reply.
func TestCodecPanicsAcrossNodes(t *testing.T) {
	near, far := remotePair(t, brittleType())
	ctx := t.Context()
	if err := near.Tell(ctx, "a", brittle{X: 0}); !errors.Is(err, ErrEncoding) {
		t.Errorf("Tell of what cannot be encoded: %v", err)
	}
	if _, err := Ask(ctx, near.Ref("a"), brittleAsk{X: 0}); !errors.Is(err, ErrEncoding) {
		t.Errorf("Ask that is answered with what cannot be encoded: %v", err)
	}
	// 100/101 is 0, by which the decoder divides
	if _, err := Ask(ctx, near.Ref("a"), brittleAsk{X: 101}); !errors.Is(err, ErrEncoding) {
		t.Errorf("Ask that is answered with what cannot be decoded: %v", err)
	}
	if v, err := Ask(ctx, near.Ref("a"), brittleAsk{X: 10}); err != nil || v.X != 10 {
		t.Errorf("a sound question after it: %v %v", v, err)
	}
	if near, far := near.plane.Panics.Count(), far.Stats().Panics; near != 2 || far != 1 {
		t.Errorf("%d and %d panics, want 2 and 1", near, far)
	}
}

// A hook that panics, or ends its goroutine, ends neither the process nor the reader of a
// connection, a worker or the control loop.
func TestHookPanics(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("hook") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				typ := cartType(&cartLog{})
				typ.Limits.Workers = 1
				var heard sync.Map // reflect.Type
				typ.OnEvent = func(e events.Event) {
					heard.Store(reflect.TypeOf(e), true)
					end()
				}
				g := start(w.join("backend"), typ)
				w.install()
				ctx := t.Context()
				if _, err := Ask(ctx, g.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
					t.Fatal(err)
				}
				g.plane.Receive(7, []byte{0xff})
				if _, err := Ask(ctx, g.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(counted(g.plane)); got != "[undecodable 1]" {
					t.Error(got)
				}
				if n := g.Stats().Panics; name == "panic" && n < 3 {
					t.Errorf("%d panics were counted, want one of each type at least", n)
				}
				for _, e := range []events.Event{Drop{}, Failure{}, Event{}} {
					if _, ok := heard.Load(reflect.TypeOf(e)); !ok {
						t.Errorf("no %T was heard", e)
					}
				}
			})
		})
	}
}
