package transport

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
	"github.com/coterie-go/coterie/ddata/transport/tcp"
)

// penned is a link of the Data lane with a real connection, whose goroutine is parked.
type penned struct {
	*session
	far  net.Conn // the other end
	sent int      // frames
}

func newPenned(t *testing.T) *penned {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	for _, c := range []net.Conn{near, far} { // so that they are soon full
		_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		_ = c.(*net.TCPConn).SetReadBuffer(16 << 10)
	}
	m := bare(4 << 20)
	t.Cleanup(m.cancel)
	q := newLink(&m.out.ports, 9, "10.0.0.1:7", Data, 0).q
	q.starter.begun = true
	p := &penned{far: far, session: &session{
		cfg: m.local.cfg, n: &m.n, q: q, conn: near, ctx: t.Context(), idle: time.NewTimer(time.Hour),
		lost: make(chan struct{}), ending: receipt.NewEnding(),
	}}
	q.parked, q.pen.watched, q.pen.line = true, true, tcp.LineOf(near)
	return p
}

// send sends a frame with its number and so many bytes.
func (p *penned) send(t *testing.T, size int) {
	t.Helper()
	payload := make([]byte, size)
	binary.BigEndian.PutUint32(payload, uint32(p.sent))
	p.sent++
	if err := p.q.send(7, payload, p.q.max); err != nil {
		t.Fatal(err)
	}
}

// alone lets the time go by after which a sender is alone.
func (p *penned) alone() { p.q.pen.ended = time.Now().Add(-time.Minute) }

// receive reads so many frames, and reports the first that is not the next.
func (p *penned) receive(n, size int) error {
	b := make([]byte, frame.HeaderSize+size)
	for i := range n {
		if _, err := io.ReadFull(p.far, b); err != nil {
			return fmt.Errorf("frame %d: %w", i, err)
		}
		if got := binary.BigEndian.Uint32(b[frame.HeaderSize:]); got != uint32(i) {
			return fmt.Errorf("frame %d comes in place of %d", got, i)
		}
	}
	return nil
}

// woken reports whether the goroutine of the link was woken.
func (p *penned) woken() bool { return len(p.q.wake) > 0 }

// A sender that is alone writes by itself. One that comes while others send leaves it to the
// goroutine.
func TestALoneSenderWrites(t *testing.T) {
	p := newPenned(t)
	for range 2 {
		p.alone()
		p.send(t, 100)
	}
	if p.woken() || p.q.kept.Written() != 2 || p.n.writes.Load() != 2 {
		t.Errorf("the goroutine is woken: %t, %d frames written, %d writes", p.woken(), p.q.kept.Written(),
			p.n.writes.Load())
	}
	p.q.pen.ended = time.Now().Add(time.Hour)
	if p.send(t, 100); !p.woken() || p.q.kept.Written() != 2 {
		t.Errorf("the goroutine is woken: %t, %d frames written", p.woken(), p.q.kept.Written())
	}
	if err := p.receive(2, 100); err != nil {
		t.Error(err)
	}
}

// What senders append while one of them writes, that one leaves to the goroutine, and tells it so.
func TestASenderLooksAgain(t *testing.T) {
	p := newPenned(t)
	p.q.pen.sender = true
	p.send(t, 100)
	if p.woken() {
		t.Error("the goroutine is woken while a sender writes")
	}
	p.q.pen.sender = false
	p.alone()
	p.q.pen.watched = false // when the write is over, the goroutine has to come for another reason
	p.send(t, 100)
	if !p.woken() || p.q.parked {
		t.Error("the goroutine does not come to look at buffers")
	}
	if err := p.receive(2, 100); err != nil {
		t.Error(err)
	}
}

// A sender does not wait for a connection that takes nothing more. The goroutine writes the rest,
// also when the other side wants the end, and no frame is cut.
func TestASenderDoesNotWaitForTheConnection(t *testing.T) {
	for name, asked := range map[string]bool{"goes on": false, "is asked to end": true} {
		p := newPenned(t)
		const size = 8 << 10
		for p.q.pen.begun.Frames == 0 {
			if p.alone(); p.sent == 1<<12 {
				t.Fatal("the connection takes everything")
			}
			p.send(t, size)
		}
		if !p.woken() || p.q.parked {
			t.Fatal("the goroutine is not woken")
		}
		sent := p.sent
		if p.send(t, size); asked {
			p.ending.Hear(receipt.EndAsked)
		} else {
			sent++
		}
		run := make(chan error, 1)
		go func() { run <- p.run() }()
		if err := p.receive(sent, size); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		close(p.lost)
		if err := <-run; (err == errEndAsked) != asked {
			t.Errorf("%s: %v", name, err)
		}
		if p.q.kept.Bytes() != sent*(frame.HeaderSize+size) {
			t.Errorf("%s: %d bytes are kept of %d frames", name, p.q.kept.Bytes(), sent)
		}
	}
}

// What a sender has begun when a connection ends is kept, and goes out over the next one, whether or
// not the goroutine comes to write it.
func TestWhatASenderHasBegunIsKept(t *testing.T) {
	for name, keepMax := range map[string]int{"written": DefaultDataKeepMax, "not written": -1} {
		p := newPenned(t)
		p.cfg.DataKeepMax = keepMax
		p.send(t, 100)
		b := frame.Batch{Buf: frame.Append(nil, 7, []byte("x")), Frames: 1}
		p.q.pen.begun = numbered{Batch: b, last: p.q.kept.Number(1), written: 3}
		close(p.lost)
		p.conn.Close()
		if err := p.run(); err == nil {
			t.Errorf("%s: a closed connection goes on", name)
		}
		_, lost := p.q.resume(0, false)
		if again := p.q.waiting.Take(); !bytes.HasSuffix(again.Buf, b.Buf) || again.Frames != 2 || len(lost) > 0 {
			t.Errorf("%s: %x goes out again, %d bytes are lost", name, again.Buf, len(lost))
		}
		if p.q.pen.line != nil {
			t.Errorf("%s: senders write on a connection that has ended", name)
		}
	}
}
