package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	library "github.com/fxamacker/cbor/v2"

	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/wire/wiretest"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	for _, m := range wiretest.Samples() {
		b := wire.Append(nil, m)
		got, err := wire.Decode(b)
		if err != nil {
			t.Fatalf("%v: %v", m, err)
		}
		if got.String() != m.String() || !bytes.Equal(wire.Append(nil, got), b) ||
			reflect.TypeOf(got) != reflect.TypeOf(m) {
			t.Errorf("sent %v, got %v", m, got)
		}
		lent := bytes.Clone(b)
		kept, _ := wire.Decode(lent)
		scribble(lent)
		if !bytes.Equal(wire.Append(nil, kept), b) {
			t.Errorf("%v keeps bytes that are not its own", m)
		}
		if err := library.Wellformed(b[1:]); err != nil {
			t.Errorf("%v is no CBOR: %v", m, err)
		}
		for n := range b {
			if _, err := wire.Decode(b[:n]); err == nil {
				t.Errorf("%v cut to %d of %d bytes decodes", m, n, len(b))
			}
		}
		if _, err := wire.Decode(append(b, 0)); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%v with a byte more: %v", m, err)
		}
	}
	if _, err := wire.Decode([]byte{wire.Version + 1}); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

// The bytes are a promise to peers of other versions.
func TestGoldenMessages(t *testing.T) {
	type read struct{ text, bytes string } // clocks know more of themselves than they say
	said := func(m wire.Message) read { return read{fmt.Sprintf("%T %v", m, m), string(wire.Append(nil, m))} }
	var samples []golden.Sample
	for _, m := range wiretest.Samples() {
		samples = append(samples, golden.Sample{
			// the file names them by their first package
			Name: "*replicator." + reflect.TypeOf(m).Elem().Name(), Bytes: wire.Append(nil, m), Want: said(m),
			Read: func(b []byte) (any, error) {
				m, err := wire.Decode(b)
				if err != nil {
					return nil, err
				}
				return said(m), nil
			},
		})
	}
	golden.Kinds(t, wire.KnownKinds(), samples, wire.KindOf)
	golden.Formats(t, samples)
}

func scribble(b []byte) {
	for i := range b {
		b[i] = 0xa5
	}
}

// A length that promises more than comes takes no memory.
func TestDecodeTakesNoMoreThanComes(t *testing.T) {
	for _, m := range wiretest.Samples() {
		b := wire.Append(nil, m)
		for i := range b[1:] { // lengths and numbers that promise more than follows
			for _, head := range []byte{0x1b, 0x5b, 0x7b, 0x9b, 0xbb} {
				long := append(bytes.Clone(b[:i+1]), head, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
				if n := testing.AllocsPerRun(1, func() { _, _ = wire.Decode(long) }); n > 200 {
					t.Fatalf("%v, cut at %d and promising more: %v allocations", m, i, n)
				}
			}
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range wiretest.Samples() {
		f.Add(wire.Append(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wire.Decode(b)
		if err != nil {
			if !errors.Is(err, wire.ErrMalformed) && !errors.Is(err, wire.ErrVersion) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if again := wire.Append(nil, m); !bytes.Equal(again, b) {
			t.Fatalf("%v has two encodings: %x and %x", m, b, again)
		}
	})
}
