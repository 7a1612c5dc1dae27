package crdt

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The few forms of CBOR (RFC 8949) that the wire uses, written by hand because every event passes through them: unsigned and negative integers,
// byte strings, arrays of definite length, null. Heads are always the shortest, and the reader accepts no other.

const (
	cborUint  = 0 << 5
	cborInt   = 1 << 5 // negative: -1 - n
	cborBytes = 2 << 5
	cborArray = 4 << 5
	cborNull  = 0xf6
)

func appendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n <= math.MaxUint8:
		return append(dst, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), n)
}

func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendHead(dst, cborInt, uint64(^n))
	}
	return appendHead(dst, cborUint, uint64(n))
}

func appendBytes(dst []byte, s string) []byte {
	return append(appendHead(dst, cborBytes, uint64(len(s))), s...)
}

// cborReader reads from the front of b. After the first failure it answers zeros, so that callers look at err when they are done, and
// wherever they loop or allocate by what they have read.
type cborReader struct {
	b   []byte
	err error
	key string // the last one read, see sharedKey

	events []Event // room for the groups of one event to come, see CutGroups
	dots   []Dot   // room for what they remove
}

func (r *cborReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
		r.b = nil
	}
}

// head reads the head of a data item.
func (r *cborReader) head() (major byte, n uint64) {
	if len(r.b) == 0 {
		r.fail("cut off")
		return 0, 0
	}
	major, n = r.b[0]&0xe0, uint64(r.b[0]&0x1f)
	if n < 24 {
		r.b = r.b[1:]
		return major, n
	}
	size := 1 << (n - 24)
	if n > 27 || len(r.b) <= size {
		r.fail("head %#02x with %d bytes left", r.b[0], len(r.b))
		return 0, 0
	}
	var least uint64
	switch p := r.b[1:]; size {
	case 1:
		n, least = uint64(p[0]), 24
	case 2:
		n, least = uint64(binary.BigEndian.Uint16(p)), math.MaxUint8+1
	case 4:
		n, least = uint64(binary.BigEndian.Uint32(p)), math.MaxUint16+1
	default:
		n, least = binary.BigEndian.Uint64(p), math.MaxUint32+1
	}
	if n < least {
		r.fail("head of %d is longer than needed", n)
		return 0, 0
	}
	r.b = r.b[1+size:]
	return major, n
}

// typed reads the head of an item that must be of one major type.
func (r *cborReader) typed(want byte) uint64 {
	major, n := r.head()
	if major != want {
		r.fail("major type %d, wanted %d", major>>5, want>>5)
		return 0
	}
	return n
}

func (r *cborReader) uint() uint64 { return r.typed(cborUint) }

func (r *cborReader) int() int64 {
	major, n := r.head()
	if major > cborInt || n > math.MaxInt64 {
		r.fail("no 64-bit integer")
		return 0
	}
	if major == cborInt {
		return ^int64(n)
	}
	return int64(n)
}

// array reads the head of an array whose elements take at least elementMin bytes each: a length that the input cannot hold is refused.
func (r *cborReader) array(limit uint64, elementMin int) int {
	n := r.typed(cborArray)
	if n > limit || n > uint64(len(r.b)/elementMin) {
		r.fail("array of %d with %d bytes left, at most %d", n, len(r.b), limit)
		return 0
	}
	return int(n)
}

// bytes reads a byte string; the slice is part of the input.
func (r *cborReader) bytes(limit int) []byte {
	n := r.typed(cborBytes)
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail("%d bytes with %d left, at most %d", n, len(r.b), limit)
		return nil
	}
	s := r.b[:n:n]
	r.b = r.b[n:]
	return s
}

// null reads a null if one is next.
func (r *cborReader) null() bool {
	if len(r.b) > 0 && r.b[0] == cborNull {
		r.b = r.b[1:]
		return true
	}
	return false
}

// end returns the error, or one when input is left over.
func (r *cborReader) end() error {
	if len(r.b) > 0 {
		r.fail("%d bytes left over", len(r.b))
	}
	return r.err
}
