package transport

import (
	"context"
	"maps"
	"net"
	"sync"
)

// acceptor takes the streams of a channel.
type acceptor = func(from NodeID, conn net.Conn)

// stream is a raw connection that Close of the mesh knows of.
type stream struct {
	net.Conn
	forget func()
}

// Close closes the connection.
func (s *stream) Close() error {
	s.forget()
	return s.Conn.Close()
}

// newStream wraps conn; key is what closeConns aborts.
func (m *Mesh) newStream(key, conn net.Conn) *stream {
	m.n.streams.Add(1)
	return &stream{Conn: conn, forget: sync.OnceFunc(func() {
		m.n.streams.Add(-1)
		m.mu.Lock()
		delete(m.conns, key)
		m.mu.Unlock()
	})}
}

// HandleStream registers accept for the streams of a channel.
func (m *Mesh) HandleStream(ch Channel, accept func(from NodeID, conn net.Conn)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := maps.Clone(*m.acceptors.Load())
	if accept == nil {
		delete(next, ch)
	} else {
		next[ch] = accept
	}
	m.acceptors.Store(&next)
}

// serveStream hands an accepted stream to its acceptor.
func (m *Mesh) serveStream(raw, conn net.Conn, h hello) {
	accept := (*m.acceptors.Load())[h.Channel]
	if accept == nil || !m.reply(conn, kindWelcome, answer{From: m.cfg.Self}) {
		m.drop(raw)
		return
	}
	accept(h.From, m.newStream(raw, conn))
}

// DialStream opens a stream to the process that listens at addr.
func (m *Mesh) DialStream(ctx context.Context, addr string, ch Channel) (net.Conn, error) {
	if err := checkAddr(addr, false); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	conn, _, err := m.dial(ctx, addr, kindStream, hello{Channel: ch})
	if m.ctx.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, err
	}
	m.mu.Lock()
	closed := m.closed.Load()
	if !closed {
		m.conns[conn] = struct{}{}
	}
	m.mu.Unlock()
	if closed {
		conn.Close()
		return nil, ErrClosed
	}
	return m.newStream(conn, conn), nil
}
