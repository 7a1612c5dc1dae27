package replicator

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/coterie-go/coterie/crdt"
)

// The forms of CBOR that messages use: unsigned integers, byte strings, arrays, false, true, null; heads are always the shortest, and no other
// are accepted. Groups, clocks and items are encoded by the package crdt.
const (
	cborUint  = 0 << 5
	cborBytes = 2 << 5
	cborArray = 4 << 5
	cborFalse = 0xf4
	cborTrue  = 0xf5
	cborNull  = 0xf6
)

// encoder appends to b.
type encoder struct{ b []byte }

func (e *encoder) head(major byte, n uint64) {
	switch {
	case n < 24:
		e.b = append(e.b, major|byte(n))
	case n <= math.MaxUint8:
		e.b = append(e.b, major|24, byte(n))
	case n <= math.MaxUint16:
		e.b = binary.BigEndian.AppendUint16(append(e.b, major|25), uint16(n))
	case n <= math.MaxUint32:
		e.b = binary.BigEndian.AppendUint32(append(e.b, major|26), uint32(n))
	default:
		e.b = binary.BigEndian.AppendUint64(append(e.b, major|27), n)
	}
}

func (e *encoder) uints(ns ...uint64) {
	for _, n := range ns {
		e.head(cborUint, n)
	}
}

func (e *encoder) bools(all ...bool) {
	for _, v := range all {
		if v {
			e.b = append(e.b, cborTrue)
		} else {
			e.b = append(e.b, cborFalse)
		}
	}
}

func (e *encoder) bytes(p []byte) {
	e.head(cborBytes, uint64(len(p)))
	e.b = append(e.b, p...)
}

func (e *encoder) digest(d crdt.Digest) {
	e.head(cborBytes, 16)
	e.b = binary.BigEndian.AppendUint64(e.b, d[0])
	e.b = binary.BigEndian.AppendUint64(e.b, d[1])
}

// clock encodes nil as null.
func (e *encoder) clock(c *crdt.Clock) {
	if c == nil {
		e.b = append(e.b, cborNull)
		return
	}
	e.b = crdt.AppendClock(e.b, c)
}

// decoder reads from the front of b. After the first failure it answers zeros; look at err when done, and wherever what was read
// decides how long to loop or how much to allocate.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
		d.b = nil
	}
}

func (d *decoder) head(want byte) uint64 {
	if len(d.b) == 0 {
		d.fail("cut off")
		return 0
	}
	first := d.b[0]
	if first&0xe0 != want {
		d.fail("head %#02x, not of major type %d", first, want>>5)
		return 0
	}
	n := uint64(first & 0x1f)
	d.b = d.b[1:]
	if n < 24 {
		return n
	}
	size := 1 << (n - 24)
	if n > 27 || len(d.b) < size {
		d.fail("head %#02x with %d bytes left", first, len(d.b))
		return 0
	}
	n = 0
	for _, x := range d.b[:size] {
		n = n<<8 | uint64(x)
	}
	d.b = d.b[size:]
	if n < 24 || size > 1 && n>>(4*size) == 0 {
		d.fail("head of %d is longer than needed", n)
		return 0
	}
	return n
}

func (d *decoder) uint() uint64 { return d.head(cborUint) }

func (d *decoder) uint32() uint32 {
	n := d.uint()
	if n > math.MaxUint32 {
		d.fail("%d is too large", n)
		return 0
	}
	return uint32(n)
}

func (d *decoder) bool() bool {
	if len(d.b) == 0 || d.b[0] != cborTrue && d.b[0] != cborFalse {
		d.fail("no bool")
		return false
	}
	v := d.b[0] == cborTrue
	d.b = d.b[1:]
	return v
}

// bytes returns a part of the input.
func (d *decoder) bytes() []byte {
	n := d.head(cborBytes)
	if n > uint64(len(d.b)) {
		d.fail("%d bytes of %d", len(d.b), n)
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

// fixed reads 16 bytes.
func (d *decoder) fixed() (out [16]byte) {
	if p := d.bytes(); len(p) == 16 {
		copy(out[:], p)
	} else {
		d.fail("%d bytes, not 16", len(p))
	}
	return out
}

func (d *decoder) digest() crdt.Digest {
	p := d.fixed()
	return crdt.Digest{binary.BigEndian.Uint64(p[:8]), binary.BigEndian.Uint64(p[8:])}
}

// array reads the head of an array whose elements take at least a byte each.
func (d *decoder) array() int {
	n := d.head(cborArray)
	if n > uint64(len(d.b)) {
		d.fail("array of %d in %d bytes", n, len(d.b))
		return 0
	}
	return int(n)
}

// clock reads a clock, or nil when it is null and may be.
func (d *decoder) clock(optional bool) *crdt.Clock {
	if optional && len(d.b) > 0 && d.b[0] == cborNull {
		d.b = d.b[1:]
		return nil
	}
	if d.err != nil {
		return nil
	}
	c, rest, err := crdt.CutClock(d.b)
	if err != nil {
		d.fail("%v", err)
		return nil
	}
	d.b = rest
	return c
}

func (d *decoder) space() Space {
	n := d.uint()
	if n >= uint64(spaces) {
		d.fail("space %d", n)
		return 0
	}
	return Space(n)
}
