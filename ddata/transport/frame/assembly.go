package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrNoRoom says that a message waited for room until its connection had to end.
var ErrNoRoom = errors.New("frame: ended before a message had room")

// Assembly puts the parts that come on one connection together. It belongs to its reader.
type Assembly struct {
	room          *Room // of the peer; nil: no parts may come
	max           int   // bytes of a message
	closed, drain <-chan struct{}
	coming        partial
}

// partial is a message of which not all parts have been handled: one value, which Done replaces.
//
// Invariants: len(data) ≤ total, and total bytes of the room are its own until then.
type partial struct {
	channel       uint64
	total         int // bytes of the message; 0 = none is coming
	data          []byte
	frames, bytes int // of the parts that have come
}

// NewAssembly returns an assembly for messages of at most max bytes, which take their room in room.
// A wait for room ends when closed or drain is closed. Without a room no part may come.
func NewAssembly(room *Room, max int, closed, drain <-chan struct{}) Assembly {
	return Assembly{room: room, max: max, closed: closed, drain: drain}
}

// Wants reports whether Add has to take a frame: it is a part, or comes where a part should.
func (a *Assembly) Wants(frame []byte) bool { return a.coming.total > 0 || partBits(frame) != 0 }

// Held returns the number of parts of the message that is coming, and their bytes.
func (a *Assembly) Held() (frames, bytes int) { return a.coming.frames, a.coming.bytes }

// Add takes a part, or a frame that comes instead of one. message is nil until the last part, and
// valid until Done.
//
// Errors: ErrBroken; ErrNoRoom.
func (a *Assembly) Add(frame []byte) (message []byte, err error) {
	if a.room == nil {
		return nil, breach("a part of a message, where none may come")
	}
	c := &a.coming
	channel, piece, bits := Channel(frame), frame[HeaderSize:], partBits(frame)
	switch {
	case c.total == 0 && (bits != firstPart || len(piece) <= totalSize):
		return nil, breach("a part of a message that has not begun")
	case c.total > 0 && (bits != nextPart || channel != c.channel || len(piece) == 0):
		return nil, breach("a message of %d bytes does not go on after %d", c.total, len(c.data))
	}
	if c.total == 0 {
		if err := a.begin(channel, int(binary.LittleEndian.Uint32(piece))); err != nil {
			return nil, err
		}
		piece = piece[totalSize:]
	}
	if len(c.data)+len(piece) > c.total {
		return nil, breach("message of %d bytes with more than these", c.total)
	}
	c.add(piece, len(frame))
	if len(c.data) < c.total {
		return nil, nil
	}
	return c.data, nil
}

// begin takes the room of a message.
func (a *Assembly) begin(channel uint64, total int) error {
	if total > a.max {
		return breach("message of %d bytes, the limit is %d", total, a.max)
	}
	if !a.room.take(total, a.closed, a.drain) {
		return ErrNoRoom
	}
	a.coming = partial{channel: channel, total: total}
	return nil
}

// Done forgets the message: it was handled, or its connection has ended.
func (a *Assembly) Done() {
	if a.coming.total > 0 {
		a.room.give(a.coming.total)
		a.coming = partial{}
	}
}

// add appends a piece. The memory is never more than twice what has come, whatever total claims.
func (p *partial) add(piece []byte, size int) {
	if need := len(p.data) + len(piece); need > cap(p.data) {
		data := make([]byte, len(p.data), min(p.total, 2*need))
		copy(data, p.data)
		p.data = data
	}
	p.data = append(p.data, piece...)
	p.frames++
	p.bytes += size
}

func breach(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBroken}, args...)...)
}
