package cbor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Any is the limit of a length that only the input bounds.
const Any = math.MaxInt

// Reader reads data items from the front of its input. After the first fault it has no input left:
// numbers are zero, strings are empty, arrays have no elements.
//
// Invariants: at ≤ len(b), and at == len(b) if err is set. It counts instead of cutting b, because
// to store a pointer costs a write barrier while garbage is collected.
type Reader struct {
	b   []byte
	at  int
	err error
}

// NewReader returns a Reader of b. The caller leaves b as it is while it reads.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Err returns the first fault, nil if there was none. The caller wraps it in an error of its own.
func (r *Reader) Err() error { return r.err }

// End returns the first fault. Input that is left over is one.
func (r *Reader) End() error {
	if n := r.Len(); n > 0 {
		r.Fail("%d bytes left over", n)
	}
	return r.err
}

// Fail notes a fault that the caller has found, unless there was one before.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.at = len(r.b)
	}
}

// Len returns the number of bytes that are left.
func (r *Reader) Len() int { return len(r.b) - r.at }

// Rest returns what was not read yet. It is a part of the input.
func (r *Reader) Rest() []byte { return r.b[r.at:] }

// Byte reads one byte, which is no data item, such as a version.
func (r *Reader) Byte() byte {
	if r.at >= len(r.b) {
		r.Fail("no byte left")
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// Skip reads exactly these bytes, and reports whether they were next. It is no fault if they were
// not.
func (r *Reader) Skip(want []byte) bool {
	if !bytes.HasPrefix(r.b[r.at:], want) {
		return false
	}
	r.at += len(want)
	return true
}

// Uint reads an unsigned integer.
func (r *Reader) Uint() uint64 { return r.head(majorUint) }

// UintMax reads an unsigned integer of at most most.
func (r *Reader) UintMax(most uint64) uint64 {
	n := r.head(majorUint)
	if n > most {
		r.Fail("number %d is above %d", n, most)
		return 0
	}
	return n
}

// Uint32 reads an unsigned integer of 32 bits.
func (r *Reader) Uint32() uint32 { return uint32(r.UintMax(math.MaxUint32)) }

// Int reads a signed integer of 64 bits.
func (r *Reader) Int() int64 {
	negative := r.at < len(r.b) && r.b[r.at]&majorMask == majorInt
	major := byte(majorUint)
	if negative {
		major = majorInt
	}
	n := r.head(major)
	if n > math.MaxInt64 {
		r.Fail("an integer of more than 64 bits")
	}
	switch {
	case r.err != nil:
		return 0
	case negative:
		return ^int64(n)
	}
	return int64(n)
}

// Bool reads a bool.
func (r *Reader) Bool() bool {
	if r.at < len(r.b) {
		if c := r.b[r.at]; c == simpleTrue || c == simpleFalse {
			r.at++
			return c == simpleTrue
		}
	}
	r.Fail("no bool")
	return false
}

// Null reads a null if one is next, and reports whether it was. It is no fault if it was not.
func (r *Reader) Null() bool {
	if r.at < len(r.b) && r.b[r.at] == simpleNull {
		r.at++
		return true
	}
	return false
}

// Bytes reads a byte string of at most most bytes. It is a part of the input.
func (r *Reader) Bytes(most int) []byte { return r.take(r.head(majorBytes), most) }

// Text reads a text string of at most most bytes, which must be UTF-8.
func (r *Reader) Text(most int) string {
	s := r.RawText(most)
	if !utf8.Valid(s) {
		r.Fail("text that is not UTF-8")
		return ""
	}
	return string(s)
}

// RawText reads a text string of at most most bytes, which may be no UTF-8. It is a part of the
// input.
func (r *Reader) RawText(most int) []byte { return r.take(r.head(majorText), most) }

// Array reads the head of an array of at most most elements. An array of more elements than there
// are bytes left is a fault, so that the caller may allocate by the length.
func (r *Reader) Array(most int) int {
	n := r.head(majorArray)
	if n > uint64(most) || n > uint64(r.Len()) {
		r.failLength(n, most)
		return 0
	}
	return int(n)
}

// Tuple reads the head of an array of exactly n elements.
func (r *Reader) Tuple(n int) {
	if got := r.head(majorArray); got != uint64(n) {
		r.Fail("array of %d, want %d", got, n)
	}
}

// take reads n bytes.
func (r *Reader) take(n uint64, most int) []byte {
	if n > uint64(most) || n > uint64(len(r.b)-r.at) {
		r.failLength(n, most)
		return nil
	}
	start := r.at
	r.at += int(n)
	return r.b[start:r.at:r.at]
}

func (r *Reader) failLength(n uint64, most int) {
	if most == Any {
		r.Fail("length %d with %d bytes left", n, r.Len())
		return
	}
	r.Fail("length %d with %d bytes left, at most %d", n, r.Len(), most)
}

// head reads the head of an item that must be of a major type, and returns its number.
func (r *Reader) head(major byte) uint64 {
	if r.at < len(r.b) {
		if c := r.b[r.at] - major; c < 24 {
			r.at++
			return uint64(c)
		}
	}
	return r.longHead(major)
}

func (r *Reader) longHead(major byte) uint64 {
	n, size := parseHead(r.b[r.at:], major)
	if size == 0 {
		r.Fail("no head of major type %d in %d bytes", major>>5, r.Len())
		return 0
	}
	r.at += size
	return n
}

// parseHead returns the number of the head with which b begins, if that is of the major type, and
// how many bytes it takes: 0 when it is not, or not the shortest, or cut off.
func parseHead(b []byte, major byte) (n uint64, size int) {
	if len(b) == 0 || b[0]&majorMask != major {
		return 0, 0
	}
	n = uint64(b[0] &^ majorMask)
	if n < 24 {
		return n, 1
	}
	if n > 27 {
		return 0, 0
	}
	if size = 1 + 1<<(n-24); len(b) < size {
		return 0, 0
	}
	var least uint64
	switch p := b[1:]; size {
	case 2:
		n, least = uint64(p[0]), 24
	case 3:
		n, least = uint64(binary.BigEndian.Uint16(p)), math.MaxUint8+1
	case 5:
		n, least = uint64(binary.BigEndian.Uint32(p)), math.MaxUint16+1
	default:
		n, least = binary.BigEndian.Uint64(p), math.MaxUint32+1
	}
	if n < least {
		return 0, 0
	}
	return n, size
}
