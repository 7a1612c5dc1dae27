package singletons

import (
	"bytes"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to peers of other builds.
func TestGoldenWords(t *testing.T) {
	type word struct {
		name string
		word singleton.Word
	}
	read := func(b []byte) (any, error) {
		name, w, err := decodeWord(b)
		return word{name, w}, err
	}
	var samples []golden.Sample
	var known []singleton.Word
	for w := range singleton.Word(255) {
		b := appendWord(nil, "cl\u00e9", w)
		if _, _, err := decodeWord(b); err == nil {
			known = append(known, w)
		}
		if w >= singleton.Request && w <= singleton.Done {
			samples = append(samples, golden.Sample{Name: w.String(), Bytes: b, Read: read, Want: word{"cl\u00e9", w}})
		}
	}
	golden.Kinds(t, known, samples, func(b []byte) singleton.Word { return singleton.Word(b[1]) })
	golden.Formats(t, samples)
}

// FuzzSingletonWord: what decodes encodes to the same bytes, and nothing panics.
func FuzzSingletonWord(f *testing.F) {
	f.Add(appendWord(nil, "clerk", singleton.Request))
	f.Add(appendWord(nil, "é", singleton.Done))
	f.Add([]byte{wordVersion, 9, 'x'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		name, w, err := decodeWord(b)
		if err == nil && !bytes.Equal(appendWord(nil, name, w), b) {
			t.Errorf("%x decodes to %q %v", b, name, w)
		}
	})
}
