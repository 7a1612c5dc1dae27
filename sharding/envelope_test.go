package sharding

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// Ids come from the values, whatever else is sent at the same time (A22).
func TestInlet(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	bad := errors.New("no id")
	in := NewExtractor(g, func(m addItem) (string, message_, error) {
		if m.Name == "" {
			return "", nil, bad
		}
		return m.Name, m, nil
	})
	envelopes := NewExtractor(g, Open[message_])
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprint("cart-", i)
			for range 200 {
				if err := errors.Join(in.Tell(t.Context(), addItem{id, i}),
					envelopes.Tell(t.Context(), Envelope[message_]{id, addItem{id, i}})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		if n, err := Ask(t.Context(), g.Ref(fmt.Sprint("cart-", i)), total{}); err != nil || n != 400*i {
			t.Errorf("cart %d has %d, %v", i, n, err)
		}
	}
	if err := in.Tell(t.Context(), addItem{}); err != bad {
		t.Errorf("without an id: %v", err)
	}
}

// byName is a request that names its entity itself.
type byName struct {
	Returns[byName, int]
	Cart string
}

// An Extractor is asked, too: with what it reads from, for what the message in it is answered with.
// Requests of another M are none to the compiler.
func TestAskAnExtractor(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	bad := errors.New("no cart")
	carts := NewExtractor(g, func(q byName) (string, message_, error) {
		if q.Cart == "" {
			return "", nil, bad
		}
		return q.Cart, total{}, nil
	})
	if err := g.Tell(t.Context(), "a", addItem{"x", 3}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cart string
		want int
		err  error
	}{{"a", 3, nil}, {"b", 0, nil}, {"", 0, bad}, {strings.Repeat("x", 513), 0, ErrInvalidID}} {
		if n, err := Ask(t.Context(), carts, byName{Cart: c.cart}); n != c.want || !errors.Is(err, c.err) {
			t.Errorf("%.10q: %d, %v, want %d, %v", c.cart, n, err, c.want, c.err)
		}
	}
	if _, is := any(byName{}).(Request[message_, int]); is {
		t.Error("a request of one M is one of another")
	}
}

// liar says that it is a message_.
type liar struct{ Returns[message_, int] }

// What the compiler cannot see is an error that names both types.
func TestARequestThatIsNoMessage(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	_, err := Ask(t.Context(), g.Ref("a"), liar{})
	if !errors.Is(err, ErrUnregisteredMessage) ||
		!strings.Contains(err.Error(), "sharding.liar says that it is a sharding.message_") {
		t.Error(err)
	}
}

var errSoldOut = errors.New("sold out")

type order struct {
	Returns[message_, string]
	How string
}

func (order) command() {}

func shopType() EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](order{})
	typ.Errors = []error{io.EOF, errSoldOut}
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			wrapped := fmt.Errorf("apples: %w", errSoldOut)
			switch m.(order).How {
			case "reply":
				return c.Reply(wrapped)
			case "fail":
				return c.Fail(wrapped)
			case "return":
				return wrapped
			case "other":
				return c.Reply(io.ErrUnexpectedEOF)
			}
			return c.Reply("fine")
		})
	}
	return typ
}

// An error that the type lists reaches the asker as itself, from here and from elsewhere; any other
// as its text.
func TestErrorReplies(t *testing.T) {
	near, far := remotePair(t, shopType())
	for name, g := range map[string]*Region[message_]{"remote": near, "local": far} {
		for _, how := range []string{"reply", "fail", "return"} {
			_, err := Ask(t.Context(), g.Ref("a"), order{How: how})
			if !errors.Is(err, errSoldOut) || !errors.Is(err, ErrHandler) || errors.Is(err, io.EOF) ||
				!strings.HasSuffix(err.Error(), ": apples: sold out") {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
		if _, err := Ask(t.Context(), g.Ref("a"), order{How: "other"}); errors.Is(err, io.ErrUnexpectedEOF) ||
			!errors.Is(err, ErrHandler) ||
			!strings.Contains(err.Error(), "unexpected EOF") {
			t.Errorf("%s: not listed: %v", name, err)
		}
		if s, err := Ask(t.Context(), g.Ref("a"), order{}); s != "fine" || err != nil {
			t.Errorf("%s: %q %v", name, s, err)
		}
	}
	for _, list := range [][]error{{nil}, {errors.New("")}, {io.EOF, errors.New("EOF")}} {
		typ := shopType()
		typ.Errors = list
		if err := typ.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Errors: ") {
			t.Errorf("%v: %v", list, err)
		}
	}
}

// asJSON is another encoding.
type asJSON struct{ name string }

func (j asJSON) Name() string { return j.name }
func (asJSON) Append(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}
func (asJSON) Decode(b []byte, v any) error { return json.Unmarshal(b, v) }

// Messages and replies travel in the encoding of the type, and what is of another is refused.
func TestOtherEncoding(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Messages = Encoded[message_](asJSON{"json"}, addItem{}, &total{}, total{}, echo{})
	near, _ := remotePair(t, typ)
	if err := near.Tell(t.Context(), "a", addItem{"x", 3}); err != nil {
		t.Fatal(err)
	}
	if n, err := Ask(t.Context(), near.Ref("a"), total{}); n != 3 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if s, err := Ask(t.Context(), near.Ref("a"), echo{Text: "ü"}); s != "ü" || err != nil {
		t.Errorf("%q %v", s, err)
	}
	mt, err := typ.Messages.reg.Of(addItem{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := mt.Append(nil, addItem{"x", 3})
	if err != nil || string(b[1:]) != `{"Name":"x","N":3}` {
		t.Errorf("encoded as %q, %v", b, err)
	}
	other := Encoded[message_](asJSON{"other"}, addItem{})
	mt, err = other.reg.Of(addItem{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{b, nil} {
		if v, err := mt.Decode(bad); err == nil || !strings.Contains(err.Error(), `"other"`) {
			t.Errorf("decoded as %v, %v", v, err)
		}
	}
	typ.Messages = Encoded[message_](nil, addItem{})
	if err := typ.Validate(); !errors.Is(err, ErrConfig) {
		t.Errorf("no encoding: %v", err)
	}
}
