package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
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
	in := intake{channels: r.channels, n: r.n, from: from}
	var (
		got   *receipt.Counter
		parts frame.Assembly
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
		heldFrames, heldBytes := parts.Held() // the parts of a message count as received when it was handled
		frames, taken, broken := r.take(&b, &in, &parts)
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

// take hands over all frames that a read has completed. They have been handled when it returns.
func (r *reader) take(b *frame.Buffer, in *intake, parts *frame.Assembly) (frames, taken int, broken error) {
	defer in.flush()
	for {
		f, err := b.Take(r.cfg.FrameMax)
		if f == nil {
			return frames, taken, err
		}
		payload := f[frame.HeaderSize:]
		part := parts.Wants(f)
		if part {
			if payload, err = r.addPart(parts, f); err != nil {
				return frames, taken, err
			}
		}
		frames++
		taken += len(f)
		if payload == nil { // a part that is not the last
			continue
		}
		in.put(Channel(frame.Channel(f)), payload)
		if part {
			in.flush()
			parts.Done()
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

// intake hands the frames of one connection to the handlers of their channels, in order. Frames for a
// BatchHandler wait until others have come, or flush.
type intake struct {
	channels *channels
	n        *counters
	from     NodeID

	table   *map[Channel]Handler // in which the handler was found; nil: none was looked for
	ch      Channel              // of the last frame
	h       Handler              // of ch; nil: there is none
	all     BatchHandler         // h, if it is one; else nil
	waiting *frames              // for all; nil: none do
}

// frames are payloads in the order in which they came.
type frames struct {
	n        int
	payloads [BatchMax][]byte
}

// framesPool is for the frames that wait while one read is handed over: between two reads an intake holds none.
var framesPool = sync.Pool{New: func() any { return new(frames) }}

// put takes the payload of a frame, which must last until flush.
func (in *intake) put(ch Channel, payload []byte) {
	if next := in.channels.handlers.Load(); in.h == nil || ch != in.ch || next != in.table {
		in.flush()
		in.table, in.ch, in.h = next, ch, in.channels.in(next, ch)
		in.all, _ = in.h.(BatchHandler)
	}
	switch {
	case in.h == nil:
		in.n.drop(DropNoHandler, 1)
	case in.all == nil:
		in.h.Receive(in.from, payload)
	default:
		if in.waiting == nil {
			in.waiting = framesPool.Get().(*frames)
		}
		w := in.waiting
		w.payloads[w.n] = payload
		if w.n++; w.n == BatchMax {
			in.flush()
		}
	}
}

// flush hands over what waits.
func (in *intake) flush() {
	w := in.waiting
	switch {
	case w == nil:
		return
	case w.n == 1:
		in.all.Receive(in.from, w.payloads[0])
	default:
		in.all.ReceiveAll(in.from, w.payloads[:w.n])
	}
	clear(w.payloads[:w.n])
	w.n, in.waiting = 0, nil
	framesPool.Put(w)
}
