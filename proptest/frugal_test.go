package proptest

import (
	"encoding/binary"
	"testing"
)

// complaints is a TB that only counts what is wrong.
type complaints struct {
	testing.TB
	n int
}

func (c *complaints) Helper()               {}
func (c *complaints) Logf(string, ...any)   {}
func (c *complaints) Errorf(string, ...any) { c.n++ }
func (c *complaints) Failed() bool          { return c.n > 0 }

var sink []byte

// A decoder that believes what it is told is caught, one that looks at what is there is not.
func TestFrugal(t *testing.T) {
	seed := append([]byte{0, 0, 0, 3}, "abc"...)
	trusting := func(b []byte) {
		if len(b) > 4 {
			sink = make([]byte, min(binary.BigEndian.Uint32(b), 1<<24))
		}
	}
	var c complaints
	if Frugal(&c, 4, trusting, seed); c.n == 0 {
		t.Error("a decoder that allocates what it is told goes unnoticed")
	}
	Frugal(t, 4, func(b []byte) {
		if len(b) > 4 && int(binary.BigEndian.Uint32(b)) <= len(b)-4 {
			sink = make([]byte, binary.BigEndian.Uint32(b))
		}
	}, seed)
}
