package cbor

import (
	"encoding/binary"
	"math"
)

// The major types, as they stand in the first byte of a head.
const (
	majorUint  = 0 << 5
	majorInt   = 1 << 5 // negative: -1 - n
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5

	majorMask = 7 << 5
)

// The simple values, which are heads of one byte.
const (
	simpleFalse = 0xf4
	simpleTrue  = 0xf5
	simpleNull  = 0xf6
)

// Unsigned is any type of unsigned integers.
type Unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint
}

// ByteString is any type of byte sequences.
type ByteString interface{ ~string | ~[]byte }

// AppendUint appends an unsigned integer.
func AppendUint[N Unsigned](dst []byte, n N) []byte { return appendHead(dst, majorUint, uint64(n)) }

// AppendUints appends unsigned integers one after the other, without an array around them.
func AppendUints(dst []byte, ns ...uint64) []byte {
	for _, n := range ns {
		dst = appendHead(dst, majorUint, n)
	}
	return dst
}

// AppendInt appends a signed integer.
func AppendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendHead(dst, majorInt, uint64(^n))
	}
	return appendHead(dst, majorUint, uint64(n))
}

// AppendBytes appends a byte string.
func AppendBytes[B ByteString](dst []byte, b B) []byte {
	return append(appendHead(dst, majorBytes, uint64(len(b))), b...)
}

// AppendBytesHead appends the head of a byte string of n bytes. The caller appends the bytes.
func AppendBytesHead(dst []byte, n int) []byte { return appendHead(dst, majorBytes, uint64(n)) }

// AppendText appends a text string. The caller takes care that it is UTF-8.
func AppendText[S ByteString](dst []byte, s S) []byte {
	return append(appendHead(dst, majorText, uint64(len(s))), s...)
}

// AppendArray appends the head of an array of n elements. The caller appends the elements.
func AppendArray(dst []byte, n int) []byte { return appendHead(dst, majorArray, uint64(n)) }

// AppendMap appends the head of a map of n pairs. The caller appends keys and values by turns, the
// keys in the order of their encodings.
func AppendMap(dst []byte, n int) []byte { return appendHead(dst, majorMap, uint64(n)) }

// AppendBool appends a bool.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, simpleTrue)
	}
	return append(dst, simpleFalse)
}

// AppendBools appends bools one after the other, without an array around them.
func AppendBools(dst []byte, vs ...bool) []byte {
	for _, v := range vs {
		dst = AppendBool(dst, v)
	}
	return dst
}

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, simpleNull) }

// appendHead appends the shortest head of a major type with a number, which is a value or counts
// what follows.
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

// HeadLen returns the number of bytes of a head with the number n: of an unsigned integer, or of
// what stands before a string of n bytes or an array of n elements.
func HeadLen(n uint64) int {
	switch {
	case n < 24:
		return 1
	case n <= math.MaxUint8:
		return 2
	case n <= math.MaxUint16:
		return 3
	case n <= math.MaxUint32:
		return 5
	}
	return 9
}
