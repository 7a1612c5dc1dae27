package transport

import (
	"container/list"
	"encoding/binary"
	"fmt"
	"sync"
)

// In the Data lane a message above FrameMax travels in parts, which follow each other without
// another frame between them, so that the order of a stripe stays what it is. The two highest bits
// of a frame's length tell parts:
//
//	first part  = length|firstPart channel total(4, little endian) piece
//	other parts = length|nextPart  channel piece                          until the pieces make up total
//
// To the code that keeps, counts and resends frames, parts are frames. The receiver counts the
// parts of a message as received when its handler has got the message: if the connection breaks
// before, all parts go out again. So a sender always holds whole messages, and a receiver forgets
// its pieces with the connection.
//
// The other lanes have no parts: their frames may be lost, and their users cut what is large
// themselves, with windows and answers that fit them (replicator/flow.go).
const (
	firstPart = 1 << 31
	nextPart  = 1 << 30
	sizeMask  = nextPart - 1
	totalSize = 4
)

// frameParts is the part bits of the frame that begins b.
func frameParts(b []byte) uint32 { return binary.LittleEndian.Uint32(b) &^ sizeMask }

// cutParts makes parts, of at most so many bytes, of the frame that begins at start and is the last
// in b. Its header is not read. It returns the number of parts.
func cutParts(b []byte, start int, ch Channel, most int) ([]byte, int) {
	total := len(b) - start - frameHeader
	piece := most - totalSize // of the first part
	parts := 1 + (total-piece+most-1)/most
	b = append(b, make([]byte, totalSize+(parts-1)*frameHeader)...)
	from := b[start+frameHeader:]
	to := from[totalSize:]
	for i := parts - 1; i > 0; i-- { // from the last, so that none is written over before it has moved
		at := piece + (i-1)*most
		size := min(most, total-at)
		head := at + (i-1)*frameHeader
		copy(to[head+frameHeader:], from[at:at+size])
		putFrameHeader(to[head:], ch, size|nextPart)
	}
	copy(to, from[:piece])
	binary.LittleEndian.PutUint32(from, uint32(total))
	putFrameHeader(b[start:], ch, (totalSize+piece)|firstPart)
	return b, parts
}

// joinParts returns the message whose first part begins b, and the size of all its parts. ok is
// false when b does not hold them all.
func joinParts(b []byte) (message []byte, size int, ok bool) {
	total := int(binary.LittleEndian.Uint32(b[frameHeader:]))
	for size < len(b) {
		n, _ := frameSize(b[size:], frameMaxLimit)
		skip := frameHeader
		if size == 0 {
			skip += totalSize
		} else if frameParts(b[size:]) != nextPart {
			break
		}
		message = append(message, b[size+skip:size+n]...)
		size += n
	}
	return message, size, len(message) == total
}

// assembly puts the parts that come on one connection together.
type assembly struct {
	room          *room // of the peer; nil: no parts may come
	ch            Channel
	total         int // bytes of the message that is coming; 0 = none is
	data          []byte
	frames, bytes int // of the parts that have come
}

// add takes a part, or a frame that comes instead of one. message is nil until the last part.
func (a *assembly) add(frame []byte, messageMax int, closed, drain <-chan struct{}) (message []byte, err error) {
	breach := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
	}
	ch, piece, kind := frameChannel(frame), frame[frameHeader:], frameParts(frame)
	switch {
	case a.total == 0 && (kind != firstPart || len(piece) <= totalSize):
		return nil, breach("a part of a message that has not begun")
	case a.total > 0 && (kind != nextPart || ch != a.ch || len(piece) == 0):
		return nil, breach("a message of %d bytes does not go on after %d", a.total, len(a.data))
	}
	if a.total == 0 {
		total := int(binary.LittleEndian.Uint32(piece))
		if total > messageMax {
			return nil, breach("message of %d bytes, the limit is %d", total, messageMax)
		}
		if !a.room.take(total, closed, drain) {
			return nil, errCutOff
		}
		a.total, a.ch, piece = total, ch, piece[totalSize:]
	}
	if len(a.data)+len(piece) > a.total {
		return nil, breach("message of %d bytes with more than these", a.total)
	}
	a.grow(len(piece))
	a.data = append(a.data, piece...)
	a.frames++
	a.bytes += len(frame)
	if len(a.data) < a.total {
		return nil, nil
	}
	return a.data, nil
}

// grow makes room for n bytes more, and for no more than twice what has come, whatever total
// claims.
func (a *assembly) grow(n int) {
	if need := len(a.data) + n; need > cap(a.data) {
		data := make([]byte, len(a.data), min(a.total, 2*need))
		copy(data, a.data)
		a.data = data
	}
}

// done forgets a message: it was handled, or its connection has ended.
func (a *assembly) done() {
	if a.total > 0 {
		a.room.give(a.total)
	}
	*a = assembly{room: a.room}
}

// room bounds the bytes of the messages that a peer has under way in parts, on all its connections.
// Each message takes what it will need before it keeps a piece. So a message that has begun can
// end, and the next waits in order, unread. A message of MessageMax finds room alone.
type room struct {
	max int

	mu      sync.Mutex
	taken   int
	waiting list.List // of *place, the oldest first
}

type place struct {
	n     int
	taken chan struct{} // closed when it has got its room
}

// take waits for n bytes until the transport is closed or the connection has to end: false then.
func (r *room) take(n int, closed, drain <-chan struct{}) bool {
	r.mu.Lock()
	if r.waiting.Len() == 0 && r.taken+n <= r.max {
		r.taken += n
		r.mu.Unlock()
		return true
	}
	p := &place{n: n, taken: make(chan struct{})}
	e := r.waiting.PushBack(p)
	r.mu.Unlock()
	select {
	case <-p.taken:
		return true
	case <-closed:
	case <-drain:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-p.taken: // in the meantime
		r.taken -= n
	default:
		r.waiting.Remove(e)
	}
	r.serveLocked()
	return false
}

// give returns n bytes.
func (r *room) give(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= n
	r.serveLocked()
}

func (r *room) serveLocked() {
	for e := r.waiting.Front(); e != nil; e = r.waiting.Front() {
		p := e.Value.(*place)
		if r.taken+p.n > r.max {
			return
		}
		r.taken += p.n
		r.waiting.Remove(e)
		close(p.taken)
	}
}
