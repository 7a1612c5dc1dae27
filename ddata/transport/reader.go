package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
)

var errCutOff = errors.New("transport: cut off, its successor waits")

// reader reads one-way connections, each in a goroutine of its own.
type reader struct {
	cfg      *Config
	closed   <-chan struct{} // when the node is
	n        *counters
	channels *channels
}

// read reads a connection to its end and hands each frame to the handler of its channel. The error
// says why it ended; io.EOF is the ordinary end. t is nil for a connection that has no gate.
//
// Handlers get slices of the read buffer, which is reused: no frame is copied or allocated.
func (r *reader) read(conn net.Conn, from NodeID, t *turn) error {
	b := frame.NewBuffer()
	table := r.channels.handlers.Load()
	var (
		got   *receipt.Counter
		parts frame.Assembly
		ch    Channel
		h     Handler
	)
	if t != nil {
		got, parts = t.receipts, frame.NewAssembly(t.room, r.cfg.MessageMax, r.closed, t.drain)
	}
	defer parts.Done()
	for {
		if t != nil && t.draining.Load() {
			_ = conn.SetReadDeadline(time.Now().Add(r.cfg.DrainTimeout))
		}
		n, err := conn.Read(b.Free())
		b.Filled(n)
		frames, taken := 0, 0
		heldFrames, heldBytes := parts.Held() // the parts of a message count as received when it was handled
		var broken error
		for {
			var f []byte
			if f, broken = b.Take(r.cfg.FrameMax); f == nil {
				break
			}
			if next := r.channels.handlers.Load(); h == nil || Channel(frame.Channel(f)) != ch || next != table {
				table, ch = next, Channel(frame.Channel(f))
				h = r.channels.in(table, ch)
			}
			payload := f[frame.HeaderSize:]
			if parts.Wants(f) {
				if payload, broken = r.addPart(&parts, f); broken != nil {
					break
				}
			}
			frames++
			taken += len(f)
			if payload == nil { // a part that is not the last
				continue
			}
			if h == nil {
				r.n.drop(DropNoHandler, 1)
			} else {
				h.Receive(from, payload)
			}
			parts.Done()
		}
		r.n.read(frames, taken)
		stillFrames, stillBytes := parts.Held()
		got.Took(frames+heldFrames-stillFrames, taken+heldBytes-stillBytes)
		if broken != nil {
			return broken
		}
		if err != nil {
			got.End(err == io.EOF && b.Rest() == 0 && stillFrames == 0)
			return r.ended(err, b.Rest())
		}
	}
}

// addPart adds a part to the message that is coming; nil without an error: it is not whole yet.
func (r *reader) addPart(a *frame.Assembly, part []byte) ([]byte, error) {
	message, err := a.Add(part)
	if err == frame.ErrNoRoom {
		r.n.drop(DropDrain, 1)
		err = errCutOff
	}
	return message, err
}

// ended explains the end of a connection; rest bytes had come of the next frame.
func (r *reader) ended(err error, rest int) error {
	if os.IsTimeout(err) {
		r.n.drop(DropDrain, 1)
		return fmt.Errorf("%w: %w", errCutOff, err)
	}
	if err == io.EOF && rest > 0 {
		return fmt.Errorf("transport: ended within a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}
