package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

var errCutOff = errors.New("transport: cut off, its successor waits")

// readFrames reads a one-way connection to its end and hands each frame to the handler of its
// channel. The error says why it ended; io.EOF is the ordinary end.
//
// Handlers get slices of the read buffer, which is reused: no frame is copied or allocated.
func (m *Mesh) readFrames(conn net.Conn, from NodeID, t *turn) error {
	b := readBuffer{data: make([]byte, readBufferMin)}
	table := m.handlers.Load()
	var (
		got   *receipts
		parts assembly
		ch    Channel
		h     Handler
	)
	if t != nil {
		got, parts.room = t.receipts, t.room
	}
	defer parts.done()
	for {
		if t != nil && t.draining.Load() {
			_ = conn.SetReadDeadline(time.Now().Add(m.cfg.DrainTimeout))
		}
		n, err := conn.Read(b.data[b.end:])
		b.end += n
		frames, taken := 0, 0
		unsaid := parts // the parts of a message count as received when it was handled
		var broken error
		for {
			size, ferr := frameSize(b.data[b.start:b.end], m.cfg.FrameMax)
			if ferr != nil {
				broken = ferr
				break
			}
			if size == 0 || size > b.end-b.start {
				b.prepare(n, size)
				break
			}
			frame := b.data[b.start : b.start+size : b.start+size]
			if next := m.handlers.Load(); h == nil || frameChannel(frame) != ch || next != table {
				table, ch = next, frameChannel(frame)
				h = m.handlerIn(*table, ch)
			}
			payload := frame[frameHeader:]
			if parts.total > 0 || frameParts(frame) != 0 {
				if payload, broken = m.addPart(&parts, frame, t); broken != nil {
					break
				}
			}
			b.start += size
			frames++
			taken += size
			if payload == nil { // a part that is not the last
				continue
			}
			if h == nil {
				m.n.drop(DropNoHandler, 1)
			} else {
				h.Receive(from, payload)
			}
			if parts.total > 0 {
				parts.done()
			}
		}
		m.count(frames, taken)
		got.took(frames+unsaid.frames-parts.frames, taken+unsaid.bytes-parts.bytes)
		if broken != nil {
			return broken
		}
		if err != nil {
			got.end(err == io.EOF && b.end == b.start && parts.frames == 0)
			return m.readEnd(err, b.end-b.start)
		}
	}
}

// addPart adds a part to the message that is coming; nil without an error: it is not whole yet.
func (m *Mesh) addPart(a *assembly, frame []byte, t *turn) ([]byte, error) {
	if a.room == nil {
		return nil, fmt.Errorf("%w: a part of a message, where none may come", ErrProtocol)
	}
	message, err := a.add(frame, m.cfg.MessageMax, m.ctx.Done(), t.drain)
	if err == errCutOff {
		m.n.drop(DropDrain, 1)
	}
	return message, err
}

// count adds what one read brought.
func (m *Mesh) count(frames, bytes int) {
	m.n.reads.Add(1)
	m.n.framesIn.Add(uint64(frames))
	m.n.bytesIn.Add(uint64(bytes))
}

// readEnd explains the end of a connection.
func (m *Mesh) readEnd(err error, rest int) error {
	if os.IsTimeout(err) {
		m.n.drop(DropDrain, 1)
		return fmt.Errorf("%w: %w", errCutOff, err)
	}
	if err == io.EOF && rest > 0 {
		return fmt.Errorf("transport: ended within a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// readBuffer is the buffer of one reader. It starts small, doubles while reads fill it, and shrinks
// when they have long been small. It never grows beyond twice what has arrived, whatever the length
// of a frame claims.
type readBuffer struct {
	data       []byte
	start, end int // data[start:end] is not handled yet
	small      int // reads in a row that used less than an eighth
}

// shrinkAfter is the number of small reads after which a buffer is halved.
const shrinkAfter = 256

// prepare makes room for the next read, after one that brought n bytes; need is the size of the
// frame at start, zero when not known.
func (b *readBuffer) prepare(n, need int) {
	rest := b.end - b.start
	size := len(b.data)
	switch {
	case b.end == size && size < readBufferMax: // the read filled it
		size *= 2
	case rest == size: // a frame larger than the buffer, and all of the buffer is its
		size = min(2*size, need)
	case n < size/8 && size > readBufferMin && rest < size/8:
		if b.small++; b.small >= shrinkAfter {
			size /= 2
		}
	default:
		b.small = 0
	}
	if size != len(b.data) {
		b.small = 0
		data := make([]byte, size)
		copy(data, b.data[b.start:b.end])
		b.data = data
	} else if b.start > 0 { // else a frame that comes byte by byte would be moved with every byte
		copy(b.data, b.data[b.start:b.end])
	}
	b.start, b.end = 0, rest
}
