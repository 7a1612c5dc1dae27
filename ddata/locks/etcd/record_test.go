package etcd

import (
	"bytes"
	"testing"
)

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add(encodeRecord(nil))
	f.Add(encodeRecord([]byte("a record")))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err == nil && !bytes.Equal(encodeRecord(r), b) {
			t.Errorf("%q decodes to %q, which encodes to %q", b, r, encodeRecord(r))
		}
	})
}
