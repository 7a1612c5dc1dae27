package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest/golden"
)

func TestHandshakeRoundTrip(t *testing.T) {
	want := hello{
		Cluster: "shop", From: 7, To: ^NodeID(0), Addr: "[::1]:7946", Lane: Bulk, Stripe: 3, Generation: 1 << 60,
		Channel: ChannelOf("x"), FrameMax: 1 << 20, Formats: format.Range{Min: 1, Max: 3},
	}
	b, err := appendHandshake([]byte("before"), kindLink, want)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(append(b[len("before"):], "after"...))
	k, body, err := readHandshake(r)
	if err != nil || k != kindLink {
		t.Fatalf("kind %d, %v", k, err)
	}
	if got, err := decodeHello(body); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "after" {
		t.Errorf("the reader took bytes behind the handshake; left are %q", rest)
	}
}

func TestAnswers(t *testing.T) {
	read := func(k kind, a answer) (NodeID, error) {
		t.Helper()
		b, err := appendHandshake(nil, k, a)
		if err != nil {
			t.Fatal(err)
		}
		k, body, err := readHandshake(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		a, err = decodeAnswer(k, body)
		return a.From, err
	}
	if from, err := read(kindWelcome, answer{From: 5}); from != 5 || err != nil {
		t.Errorf("welcome: %v, %v", from, err)
	}
	long := strings.Repeat("ä", textMax)
	from, err := read(kindRefusal, answer{From: 6, Reason: RefusedCluster, Text: long})
	var refused ErrRefused
	if from != 6 || !errors.As(err, &refused) || refused.Reason != RefusedCluster || len(refused.Text) > textMax ||
		!strings.HasPrefix(long, refused.Text) {
		t.Errorf("refusal: %v, %v", from, err)
	}
	if _, err := read(kindLink, answer{}); !errors.Is(err, ErrProtocol) {
		t.Errorf("a hello for an answer: %v", err)
	}
}

// A version that is not ours is told from garbage, and its handshake is read to its end, so that
// the refusal is not lost to a reset.
func TestOtherVersion(t *testing.T) {
	b, err := appendHandshake(nil, kindLink, hello{Cluster: "x"})
	if err != nil {
		t.Fatal(err)
	}
	b[4] = 77
	r := bytes.NewReader(b)
	_, _, err = readHandshake(r)
	if v, ok := errors.AsType[errVersion](err); !ok || v != 77 || r.Len() != 0 {
		t.Errorf("%v; %d bytes left", err, r.Len())
	}
}

// The bytes are a promise to peers of other versions.
func TestGoldenHandshakes(t *testing.T) {
	full := hello{
		Cluster: "c", From: 1, To: 1 << 63, Addr: "a:1", Lane: Data, Stripe: 3, Generation: 300, Channel: 1 << 40,
		FrameMax: 1 << 20, Written: 9, MessageMax: 1 << 31, Acked: 8, Formats: format.Range{Min: 1, Max: 3},
	}
	least := hello{Formats: format.Range{Min: 1, Max: 1}}
	var samples []golden.Sample
	for _, c := range []struct {
		kind kind
		body any
	}{
		{kindLink, full}, {kindAddr, least}, {kindStream, least},
		{kindWelcome, answer{}}, {kindWelcome, answer{From: 3, Received: 7, Fresh: true}},
		{kindRefusal, answer{From: 3, Reason: RefusedSelf, Text: "own"}},
	} {
		b, err := appendHandshake(nil, c.kind, c.body)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, golden.Sample{
			Name: fmt.Sprintf("%T", c.body), Bytes: b, Read: golden.Reads(readBody), Want: c.body,
		})
	}
	var known []kind
	for k := kindLink; k < kinds; k++ {
		known = append(known, k)
	}
	golden.Kinds(t, known, samples, func(b []byte) kind { return kind(b[5]) })
	golden.Formats(t, samples)
}

// readBody reads the body of a handshake.
func readBody(b []byte) (any, error) {
	k, body, err := readHandshake(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if k < kindWelcome {
		return decodeHello(body)
	}
	a, err := decodeAnswer(k, body)
	if refused, ok := errors.AsType[ErrRefused](err); ok && refused.Reason == a.Reason {
		err = nil
	}
	return a, err
}

// A hello of a later build may say more.
func TestHelloGainsFields(t *testing.T) {
	var h struct {
		hello
		More string `cbor:"99,keyasint"`
	}
	h.hello, h.More = hello{From: 7, Formats: format.Range{Min: 1, Max: 9}}, "later"
	if got, err := decodeHello(cbor.Records.MustAppend(nil, h)); err != nil || got != h.hello {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBadHello(t *testing.T) {
	good := hello{Cluster: "c", From: 1, Addr: "a:1", Formats: format.Build()}
	for what, edit := range map[string]func(*hello){
		"no sender":    func(h *hello) { h.From = 0 },
		"no address":   func(h *hello) { h.Addr = "" },
		"port 0":       func(h *hello) { h.Addr = "a:0" },
		"long address": func(h *hello) { h.Addr = strings.Repeat("a", address.Max) + ":1" },
		"lane":         func(h *hello) { h.Lane = lanes },
		"stripe":       func(h *hello) { h.Stripe = stripesLimit },
		"long cluster": func(h *hello) { h.Cluster = strings.Repeat("c", nameMax+1) },
		"no formats":   func(h *hello) { h.Formats = format.Range{} },
		"formats":      func(h *hello) { h.Formats.Max = 0 },
	} {
		h := good
		edit(&h)
		if h, err := decodeHello(cbor.Records.MustAppend(nil, h)); err == nil && h.check() == nil {
			t.Errorf("%s: taken", what)
		}
	}
	for _, body := range []string{"", "\xa0", "\xff", "\xa1\x01\x01", "\xbf\xff", strings.Repeat("\x81", 100)} {
		if _, err := decodeHello([]byte(body)); err == nil {
			t.Errorf("%x: taken", body)
		}
	}
}

// FuzzHandshake: whatever arrives, a handshake is decoded or refused, reads no more than it
// announces, and what was decoded encodes to the same again.
func FuzzHandshake(f *testing.F) {
	for _, k := range []kind{kindLink, kindAddr, kindStream} {
		b, _ := appendHandshake(nil, k, hello{
			Cluster: "c", From: 1, To: 2, Addr: "a:1", Lane: Data, Stripe: 1, Generation: 9,
			Formats: format.Build(),
		})
		f.Add(b)
	}
	b, _ := appendHandshake(nil, kindRefusal, answer{From: 3, Reason: RefusedSelf, Text: "own"})
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		k, body, err := readHandshake(r)
		if read := len(b) - r.Len(); read > handshakeHeader+helloMax {
			t.Fatalf("read %d bytes", read)
		}
		if err != nil {
			return
		}
		_, _ = decodeAnswer(k, body)
		h, err := decodeHello(body)
		if err != nil {
			return
		}
		again, err := appendHandshake(nil, k, h)
		if err != nil {
			t.Fatal(err)
		}
		k2, body2, err := readHandshake(bytes.NewReader(again))
		h2, err2 := decodeHello(body2)
		if err != nil || err2 != nil || k2 != k || h2 != h {
			t.Fatalf("%+v became %+v (%v, %v)", h, h2, err, err2)
		}
	})
}
