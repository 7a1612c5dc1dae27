package replicator

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/head"
)

// The forms of CBOR that messages use: unsigned integers, byte strings, arrays, false, true, null;
// no other are accepted. Groups, clocks and items are encoded by the package crdt.

// encoder appends to b.
type encoder struct{ b []byte }

func (e *encoder) head(major byte, n uint64) { e.b = head.Append(e.b, major, n) }

func (e *encoder) uints(ns ...uint64) {
	for _, n := range ns {
		e.head(head.Uint, n)
	}
}

func (e *encoder) bools(all ...bool) {
	for _, v := range all {
		if v {
			e.b = append(e.b, head.True)
		} else {
			e.b = append(e.b, head.False)
		}
	}
}

func (e *encoder) bytes(p []byte) {
	e.head(head.Bytes, uint64(len(p)))
	e.b = append(e.b, p...)
}

func (e *encoder) digest(d crdt.Digest) {
	e.head(head.Bytes, 16)
	e.b = binary.BigEndian.AppendUint64(e.b, d[0])
	e.b = binary.BigEndian.AppendUint64(e.b, d[1])
}

// clock encodes nil as null.
func (e *encoder) clock(c *crdt.Clock) {
	if c == nil {
		e.b = append(e.b, head.Null)
		return
	}
	e.b = crdt.AppendClock(e.b, c)
}

// decoder reads from the front of b. After the first failure it answers zeros; look at err when
// done, and wherever what was read decides how long to loop or how much to allocate.
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
	if len(d.b) > 0 {
		if c := d.b[0] - want; c < 24 {
			d.b = d.b[1:]
			return uint64(c)
		}
	}
	n, size := head.Read(d.b, want)
	if size == 0 {
		d.fail("no head of major type %d in %d bytes", want>>5, len(d.b))
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) uint() uint64 { return d.head(head.Uint) }

func (d *decoder) uint32() uint32 {
	n := d.uint()
	if n > math.MaxUint32 {
		d.fail("%d is too large", n)
		return 0
	}
	return uint32(n)
}

func (d *decoder) bool() bool {
	if len(d.b) == 0 || d.b[0] != head.True && d.b[0] != head.False {
		d.fail("no bool")
		return false
	}
	v := d.b[0] == head.True
	d.b = d.b[1:]
	return v
}

// bytes returns a part of the input.
func (d *decoder) bytes() []byte {
	n := d.head(head.Bytes)
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
	n := d.head(head.Array)
	if n > uint64(len(d.b)) {
		d.fail("array of %d in %d bytes", n, len(d.b))
		return 0
	}
	return int(n)
}

// clock reads a clock, or nil when it is null and may be.
func (d *decoder) clock(optional bool) *crdt.Clock {
	if optional && len(d.b) > 0 && d.b[0] == head.Null {
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
