package frame

import "encoding/binary"

// A message above the limit of a frame travels in parts, which follow each other without another
// frame between them. So the order of a stripe stays what it is. The two highest bits of a frame's
// length tell parts:
//
//	first part  = length|firstPart channel total(4, little endian) piece
//	other parts = length|nextPart  channel piece                          until the pieces make up total
//
// A receiver counts the parts of a message as received when its handler has got the message: if the
// connection breaks before, all parts go out again. So a sender always holds whole messages, and a
// receiver forgets its pieces with the connection.
const (
	firstPart = 1 << 31
	nextPart  = 1 << 30
	sizeMask  = nextPart - 1
	totalSize = 4
)

// partBits is the part bits of the frame that begins b; zero: the frame is a message.
func partBits(b []byte) uint32 { return binary.LittleEndian.Uint32(b) &^ sizeMask }

// Cut makes parts, of at most so many bytes, of the frame that begins at start and is the last
// in b. Its header is not read. It returns the number of parts.
func Cut(b []byte, start int, channel uint64, most int) ([]byte, int) {
	total := len(b) - start - HeaderSize
	piece := most - totalSize // of the first part
	parts := 1 + (total-piece+most-1)/most
	b = append(b, make([]byte, totalSize+(parts-1)*HeaderSize)...)
	from := b[start+HeaderSize:]
	to := from[totalSize:]
	for i := parts - 1; i > 0; i-- { // from the last, so that none is written over before it has moved
		at := piece + (i-1)*most
		size := min(most, total-at)
		head := at + (i-1)*HeaderSize
		copy(to[head+HeaderSize:], from[at:at+size])
		PutHeader(to[head:], channel, size|nextPart)
	}
	copy(to, from[:piece])
	binary.LittleEndian.PutUint32(from, uint32(total))
	PutHeader(b[start:], channel, (totalSize+piece)|firstPart)
	return b, parts
}

// Message is one message of a batch.
type Message struct {
	Channel uint64
	Payload []byte // in the batch, or put together of parts
	Whole   bool   // no part of it is missing
	Begins  bool   // its beginning is in the batch
}

// Next returns the first message of a batch, and the rest of the batch. Parts without a beginning
// are messages that are not whole.
func Next(batch []byte) (m Message, rest []byte) {
	size := sizeIn(batch)
	m = Message{Channel: Channel(batch), Payload: batch[HeaderSize:size:size], Whole: true, Begins: true}
	switch partBits(batch) {
	case nextPart: // of a message that was begun to be acknowledged, which no correct receiver does
		m.Whole, m.Begins = false, false
	case firstPart:
		m.Payload, size, m.Whole = join(batch)
	}
	return m, batch[size:]
}

// join returns the message whose first part begins b, and the size of all its parts. whole is false
// when b does not hold them all.
func join(b []byte) (message []byte, size int, whole bool) {
	total := int(binary.LittleEndian.Uint32(b[HeaderSize:]))
	for size < len(b) {
		n := sizeIn(b[size:])
		skip := HeaderSize
		if size == 0 {
			skip += totalSize
		} else if partBits(b[size:]) != nextPart {
			break
		}
		message = append(message, b[size+skip:size+n]...)
		size += n
	}
	return message, size, len(message) == total
}
