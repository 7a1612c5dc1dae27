package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

var errCutOff = errors.New("transport: cut off, its successor waits")

// readFrames reads a one-way connection to its end and hands each frame to the handler of its
// channel. The error says why it ended; io.EOF is the ordinary end.
//
// Handlers get slices of the read buffer, which is reused: no frame is copied or allocated.
func (m *Mesh) readFrames(conn net.Conn, from NodeID, t *turn) error {
	b := frame.NewBuffer()
	table := m.handlers.Load()
	var (
		got   *receipts
		parts frame.Assembly
		ch    Channel
		h     Handler
	)
	if t != nil {
		got, parts = t.receipts, frame.NewAssembly(t.room, m.cfg.MessageMax, m.ctx.Done(), t.drain)
	}
	defer parts.Done()
	for {
		if t != nil && t.draining.Load() {
			_ = conn.SetReadDeadline(time.Now().Add(m.cfg.DrainTimeout))
		}
		n, err := conn.Read(b.Free())
		b.Filled(n)
		frames, taken := 0, 0
		heldFrames, heldBytes := parts.Held() // the parts of a message count as received when it was handled
		var broken error
		for {
			var f []byte
			if f, broken = b.Take(m.cfg.FrameMax); f == nil {
				break
			}
			if next := m.handlers.Load(); h == nil || Channel(frame.Channel(f)) != ch || next != table {
				table, ch = next, Channel(frame.Channel(f))
				h = m.handlerIn(*table, ch)
			}
			payload := f[frame.HeaderSize:]
			if parts.Wants(f) {
				if payload, broken = m.addPart(&parts, f); broken != nil {
					break
				}
			}
			frames++
			taken += len(f)
			if payload == nil { // a part that is not the last
				continue
			}
			if h == nil {
				m.n.drop(DropNoHandler, 1)
			} else {
				h.Receive(from, payload)
			}
			parts.Done()
		}
		m.count(frames, taken)
		stillFrames, stillBytes := parts.Held()
		got.took(frames+heldFrames-stillFrames, taken+heldBytes-stillBytes)
		if broken != nil {
			return broken
		}
		if err != nil {
			got.end(err == io.EOF && b.Rest() == 0 && stillFrames == 0)
			return m.readEnd(err, b.Rest())
		}
	}
}

// addPart adds a part to the message that is coming; nil without an error: it is not whole yet.
func (m *Mesh) addPart(a *frame.Assembly, part []byte) ([]byte, error) {
	message, err := a.Add(part)
	if err == frame.ErrNoRoom {
		m.n.drop(DropDrain, 1)
		err = errCutOff
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
