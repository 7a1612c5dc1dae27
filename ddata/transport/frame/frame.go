package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// HeaderSize is the size of what stands before a payload, in version 2 of the transport's protocol:
//
//	frame = length(4, little endian; its two highest bits: see parts.go) channel(8, little endian) payload(length)
const HeaderSize = 12

// ErrBroken says that bytes are not what this package writes.
var ErrBroken = errors.New("transport: protocol violation")

// Append appends one frame.
func Append(dst []byte, channel uint64, payload []byte) []byte {
	var head [HeaderSize]byte
	PutHeader(head[:], channel, len(payload))
	dst = append(dst, head[:]...)
	return append(dst, payload...)
}

// PutHeader writes the header of a frame with a payload of n bytes.
func PutHeader(head []byte, channel uint64, n int) {
	binary.LittleEndian.PutUint32(head, uint32(n))
	binary.LittleEndian.PutUint64(head[4:], channel)
}

// Size is the size, with header, of the frame that begins b; zero when b does not hold the header
// yet. A payload above max is broken.
func Size(b []byte, max int) (int, error) {
	if len(b) < HeaderSize {
		return 0, nil
	}
	n := binary.LittleEndian.Uint32(b) & sizeMask
	if n > uint32(max) {
		return 0, tooLong(n, max)
	}
	return HeaderSize + int(n), nil
}

func tooLong(n uint32, max int) error {
	return fmt.Errorf("%w: frame of %d bytes, the limit is %d", ErrBroken, n, max)
}

// Channel is the channel of the frame that begins b.
func Channel(b []byte) uint64 { return binary.LittleEndian.Uint64(b[4:]) }

// Count counts the frames of a batch.
func Count(batch []byte) (n int) {
	for ; len(batch) > 0; n++ {
		batch = batch[sizeIn(batch):]
	}
	return n
}

// Skip is the number of bytes of the first n frames of a batch.
func Skip(batch []byte, n int) (at int) {
	for ; n > 0; n-- {
		at += sizeIn(batch[at:])
	}
	return at
}

// Begun returns how many frames of a batch have begun within its first n bytes, and the number of
// bytes of these frames.
func Begun(batch []byte, n int) (frames, at int) {
	for at < n {
		at += sizeIn(batch[at:])
		frames++
	}
	return frames, at
}

// sizeIn is the size of the frame that begins a batch of this node's own.
func sizeIn(batch []byte) int {
	n, _ := Size(batch, MaxLimit)
	return n
}
