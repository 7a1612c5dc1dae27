package file

import (
	"bytes"
	"testing"
)

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeState(nil))
	f.Add(encodeState([]byte("a record")))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeState(b)
		if err == nil && !bytes.Equal(encodeState(r), b) {
			t.Errorf("%q decodes to %q, which encodes to %q", b, r, encodeState(r))
		}
	})
}
