package receipt

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/golden"
)

// written keeps what a Counter sends.
type written struct{ bytes.Buffer }

// SetWriteDeadline implements Conn.
func (*written) SetWriteDeadline(time.Time) error { return nil }

// The bytes are a promise to peers of other builds.
func TestGoldenWords(t *testing.T) {
	var conn written
	c := NewCounter(&conn, time.Minute, 300, true, func() { t.Error("aborted") })
	c.Open()
	c.End(true)
	golden.Formats(t, []golden.Sample{{
		Name: "end asked, receipt, all received", Bytes: conn.Bytes(), Want: []uint64{EndAsked, 300, AllReceived},
		Read: func(b []byte) (any, error) {
			var words []uint64
			for r := NewReader(bytes.NewReader(b)); ; {
				w, err := r.Next()
				if errors.Is(err, io.EOF) {
					return words, nil
				}
				words = append(words, w)
			}
		},
	}})
}
