package gossip

import (
	"io"
	"net"
	"slices"
	"sync"
)

// stream is a stream that its bridge forgets when it is closed. What the other side sends on it is
// read to its end, and looked at, before memberlist gets the first byte.
type stream struct {
	net.Conn
	b      *bridge
	answer bool // this side opened it: what comes answers a sync
	forget func()

	s   screen // of the goroutine that reads
	out []byte // what memberlist has not read yet
	err error  // after that
}

// Read hands over what was looked at.
func (s *stream) Read(p []byte) (int, error) {
	if s.out == nil && s.err == nil {
		s.look()
	}
	if len(s.out) == 0 {
		return 0, s.err
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// look reads the message of the other side, the only one.
func (s *stream) look() {
	s.s.from, s.s.held = s.Conn, &s.b.held
	if s.err = s.s.sync(s.b.label, s.answer); s.err != nil {
		s.b.refuse(s.err, s.RemoteAddr().String())
		s.s.free()
		return
	}
	s.out, s.err = s.s.b[:s.s.at], io.EOF
}

// Close closes the stream. memberlist does it in the goroutine that reads.
func (s *stream) Close() error {
	s.forget()
	s.s.free()
	return s.Conn.Close()
}

// track wraps a stream so that Shutdown can close it; nil says that it is too late. When too many
// streams that others opened are under way, the oldest is closed: an honest stream ends soon.
func (b *bridge) track(conn net.Conn, taken bool) *stream {
	s := &stream{Conn: conn, b: b, answer: !taken}
	s.forget = sync.OnceFunc(func() { b.untrack(s) })
	b.mu.Lock()
	if b.conns == nil {
		b.mu.Unlock()
		conn.Close()
		return nil
	}
	b.conns[s] = struct{}{}
	var oldest *stream
	if taken {
		if b.taken = append(b.taken, s); len(b.taken) > streamsMax {
			oldest = b.taken[0]
			b.taken = slices.Delete(b.taken, 0, 1)
		}
	}
	b.mu.Unlock()
	if oldest != nil {
		b.refuse(screened(RefusedCrowd, "more than %d streams", streamsMax), oldest.RemoteAddr().String())
		oldest.Conn.Close()
	}
	return s
}

func (b *bridge) untrack(s *stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, s)
	if i := slices.Index(b.taken, s); i >= 0 {
		b.taken = slices.Delete(b.taken, i, i+1)
	}
}
