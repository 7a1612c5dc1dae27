package crdt

import (
	"fmt"
	"math"

	"github.com/coterie-go/coterie/crdt/head"
)

// The few forms of CBOR (RFC 8949) that the wire uses, written by hand because every event passes
// through them: unsigned and negative integers, byte strings, arrays of definite length, null.

func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return head.Append(dst, head.Int, uint64(^n))
	}
	return head.Append(dst, head.Uint, uint64(n))
}

func appendBytes(dst []byte, s string) []byte {
	return append(head.Append(dst, head.Bytes, uint64(len(s))), s...)
}

// cborReader reads from the front of b. After the first failure it answers zeros, so that callers
// look at err when they are done, and wherever they loop or allocate by what they have read.
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

// typed reads the head of an item that must be of one major type.
func (r *cborReader) typed(want byte) uint64 {
	if len(r.b) > 0 {
		if c := r.b[0] - want; c < 24 {
			r.b = r.b[1:]
			return uint64(c)
		}
	}
	n, size := head.Read(r.b, want)
	if size == 0 {
		r.fail("no head of major type %d in %d bytes", want>>5, len(r.b))
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *cborReader) uint() uint64 { return r.typed(head.Uint) }

func (r *cborReader) int() int64 {
	negative := len(r.b) > 0 && r.b[0]&0xe0 == head.Int
	major := byte(head.Uint)
	if negative {
		major = head.Int
	}
	n := r.typed(major)
	if n > math.MaxInt64 {
		r.fail("no 64-bit integer")
		return 0
	}
	if negative && r.err == nil {
		return ^int64(n)
	}
	return int64(n)
}

// array reads the head of an array whose elements take at least elementMin bytes each: a length
// that the input cannot hold is refused.
func (r *cborReader) array(limit uint64, elementMin int) int {
	n := r.typed(head.Array)
	if n > limit || n > uint64(len(r.b)/elementMin) {
		r.fail("array of %d with %d bytes left, at most %d", n, len(r.b), limit)
		return 0
	}
	return int(n)
}

// bytes reads a byte string; the slice is part of the input.
func (r *cborReader) bytes(limit int) []byte {
	n := r.typed(head.Bytes)
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
	if len(r.b) > 0 && r.b[0] == head.Null {
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
