package crdt

import (
	"cmp"
	"fmt"
	"math"
)

// Timestamp orders the writes of the last-writer types: by High, then by Low. Those made here are
// hybrid logical clocks: High is the wall time in nanoseconds, or what was observed if that is
// ahead, and Low counts on. Callers may use the words as they like in PutAt.
type Timestamp struct{ High, Low uint64 }

// Compare orders timestamps.
func (t Timestamp) Compare(u Timestamp) int {
	if c := cmp.Compare(t.High, u.High); c != 0 {
		return c
	}
	return cmp.Compare(t.Low, u.Low)
}

func (t Timestamp) String() string { return fmt.Sprintf("%d.%d", t.High, t.Low) }

// Next returns the timestamp of a write at the given wall time that has observed t: above t, or t
// itself where timestamps end. A peer can drive a register there with one write, and that must not
// lock any writer out: a write takes the place of all that it observed, whatever their timestamps.
func (t Timestamp) Next(wall int64) Timestamp {
	switch {
	case wall > 0 && uint64(wall) > t.High:
		return Timestamp{High: uint64(wall)}
	case t.Low < math.MaxUint64:
		return Timestamp{t.High, t.Low + 1}
	case t.High < math.MaxUint64:
		return Timestamp{High: t.High + 1}
	}
	return t
}

// AppendTimestamp appends both words, each as a length byte and the bytes without leading zeros.
// The bytes sort like the timestamps.
func AppendTimestamp(dst []byte, t Timestamp) []byte {
	return appendWord(appendWord(dst, t.High), t.Low)
}

func appendWord(dst []byte, n uint64) []byte {
	at := len(dst)
	dst = appendCount(append(dst, 0), n)
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

// CutTimestamp decodes what AppendTimestamp made from the front of s.
func CutTimestamp(s string) (t Timestamp, rest string, ok bool) {
	if t.High, s, ok = cutWord(s); !ok {
		return t, s, false
	}
	t.Low, s, ok = cutWord(s)
	return t, s, ok
}

func cutWord(s string) (n uint64, rest string, ok bool) {
	if len(s) == 0 || len(s)-1 < int(s[0]) {
		return 0, s, false
	}
	k := 1 + int(s[0])
	n, ok = decodeCount(s[1:k])
	return n, s[k:], ok
}
