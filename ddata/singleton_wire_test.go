package ddata

import (
	"bytes"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// FuzzSingletonWord: what decodes encodes to the same bytes, and nothing panics.
func FuzzSingletonWord(f *testing.F) {
	f.Add(appendWord(nil, "clerk", singleton.Request))
	f.Add(appendWord(nil, "é", singleton.Done))
	f.Add([]byte{singletonVersion, 9, 'x'})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		name, w, err := decodeWord(b)
		if err == nil && !bytes.Equal(appendWord(nil, name, w), b) {
			t.Errorf("%x decodes to %q %v", b, name, w)
		}
	})
}
