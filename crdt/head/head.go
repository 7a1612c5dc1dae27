package head

import (
	"encoding/binary"
	"math"
)

// The major types, as they stand in the first byte, and the simple values, which are heads of one
// byte.
const (
	Uint  = 0 << 5
	Int   = 1 << 5 // negative: -1 - n
	Bytes = 2 << 5
	Text  = 3 << 5
	Array = 4 << 5
	Map   = 5 << 5
	False = 0xf4
	True  = 0xf5
	Null  = 0xf6
)

// Append appends a head.
func Append(dst []byte, major byte, n uint64) []byte {
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

// Read returns the number of the head with which b begins, if that is of the major type, and how
// many bytes it takes: 0 when it is not, or not the shortest, or cut off.
func Read(b []byte, major byte) (n uint64, size int) {
	if len(b) == 0 || b[0]&0xe0 != major {
		return 0, 0
	}
	n = uint64(b[0] & 0x1f)
	if n < 24 {
		return n, 1
	}
	size = 1 + 1<<(n-24)
	if n > 27 || len(b) < size {
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
