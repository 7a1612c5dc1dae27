package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// errLost is the way a pump learns that its connection was closed by the other side.
var errLost = errors.New("transport: connection closed by the other side")

// run is the link's goroutine: it connects, writes until the connection ends, and connects again,
// until the link is closed.
func (l *link) run() {
	defer l.m.wg.Done()
	defer l.m.linkWG.Done()
	defer l.end()
	idle := time.NewTimer(l.m.cfg.AddrIdle)
	defer idle.Stop()
	wait := backoff{min: l.m.cfg.BackoffMin, max: l.m.cfg.BackoffMax}
	for l.ctx.Err() == nil {
		if l.peer == 0 && !l.awaitFrame(idle) {
			return
		}
		gen := l.m.generation.Add(1)
		conn, welcome, err := l.connect(gen)
		if err == nil {
			since := time.Now()
			if l.lane == Data {
				l.resume(welcome)
			}
			if err = l.serve(conn, gen, idle); err == nil || l.closing() {
				return
			}
			if time.Since(since) > l.m.cfg.BackoffMax {
				wait.reset()
			}
		} else {
			l.onConnectError(err)
		}
		l.sleep(wait.pause(), err)
	}
}

// end counts what the link could not write.
func (l *link) end() {
	l.stop()
	l.mu.Lock()
	l.phase = phaseClosing
	l.mu.Unlock()
	l.discard(DropRemoved)
}

// awaitFrame waits until a link of SendAddr has a frame; false says that it was retired instead.
func (l *link) awaitFrame(idle *time.Timer) bool {
	for {
		l.mu.Lock()
		if len(l.buf) > 0 {
			l.mu.Unlock()
			return true
		}
		l.parked = true
		l.mu.Unlock()
		idle.Reset(l.m.cfg.AddrIdle)
		select {
		case <-l.wake:
		case <-idle.C:
			if l.retire() {
				return false
			}
		case <-l.ctx.Done():
			return false
		}
	}
}

// sleep waits before the next attempt. A refusal is waited out longer: it ends only when a person
// or another process changes something. So does a peer that departs.
func (l *link) sleep(d time.Duration, cause error) {
	if r, refused := errors.AsType[ErrRefused](cause); refused && r.Reason != RefusedGeneration || cause == errEndAsked {
		d = max(d, 2*l.m.cfg.BackoffMax)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.kick:
	case <-l.ctx.Done():
	}
}

// connect dials, says hello and waits for the welcome.
func (l *link) connect(gen uint64) (net.Conn, answer, error) {
	l.mu.Lock()
	addr, written, acked := l.addr, l.kept.written, l.kept.acked
	l.mu.Unlock()
	h := hello{To: l.peer, Lane: l.lane, Stripe: l.stripe, Generation: gen, Written: written, Acked: acked}
	k := kindLink
	if l.peer != 0 {
		return l.m.dial(l.ctx, addr, k, h)
	}
	conn, a, err := l.m.dial(l.ctx, addr, kindAddr, h)
	l.answeredBy(a.From, err)
	return conn, a, err
}

// answeredBy notes the node that was found at an address.
func (l *link) answeredBy(id NodeID, err error) {
	if cause, refused := errors.AsType[ErrRefused](err); refused && cause.Reason == RefusedSelf {
		id = l.m.cfg.Self
	} else if err != nil {
		id = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = id
}

// dial opens a connection of any kind and completes its handshake.
func (m *Mesh) dial(ctx context.Context, addr string, k kind, h hello) (net.Conn, answer, error) {
	m.n.dials.Add(1)
	conn, err := m.dialRaw(ctx, addr)
	if err != nil {
		m.n.dialErrors.Add(1)
		if cause, ok := errors.AsType[ErrRefused](err); ok {
			m.onRefusedBy(0, h.To, addr, cause)
		}
		return nil, answer{}, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	a, err := m.greet(conn, k, h)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return conn, a, nil
	}
	conn.Close()
	m.n.dialErrors.Add(1)
	if cause, ok := errors.AsType[ErrRefused](err); ok {
		m.onRefusedBy(a.From, h.To, addr, cause)
	}
	return nil, answer{}, err
}

func (m *Mesh) dialRaw(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.DialTimeout)
	defer cancel()
	conn, err := m.cfg.Network.Dial(ctx, addr)
	if err != nil || m.cfg.TLS == nil {
		return conn, err
	}
	return m.secureOutbound(ctx, conn, addr)
}

// greet sends the hello and reads the answer.
func (m *Mesh) greet(conn net.Conn, k kind, h hello) (answer, error) {
	h.Cluster, h.From, h.Addr = m.cfg.Cluster, m.cfg.Self, m.addr
	h.FrameMax, h.MessageMax = uint32(m.cfg.FrameMax), uint32(m.cfg.MessageMax)
	b, err := appendHandshake(nil, k, h)
	if err != nil {
		return answer{}, err
	}
	if err := conn.SetDeadline(time.Now().Add(m.cfg.HelloTimeout)); err != nil {
		return answer{}, err
	}
	if _, err := conn.Write(b); err != nil {
		return answer{}, err
	}
	got, body, err := readHandshake(conn)
	if v, ok := errors.AsType[errVersion](err); ok {
		return answer{}, ErrRefused{Reason: RefusedVersion, Text: "the other side speaks " + v.Error()}
	}
	if cause, ok := alerted(err); ok {
		return answer{}, cause
	}
	if err != nil {
		return answer{}, err
	}
	a, err := decodeAnswer(got, body)
	if err != nil {
		return a, err
	}
	return a, conn.SetDeadline(time.Time{})
}

// onConnectError takes note of a failed attempt.
func (l *link) onConnectError(err error) {
	cause, refused := errors.AsType[ErrRefused](err)
	refused = refused && cause.Reason != RefusedGeneration && cause.Reason != RefusedTLS // a certificate may be renewed
	if l.peer == 0 {
		if l.ctx.Err() == nil { // no oftener than the pauses between attempts allow
			l.m.fault(Fault{Kind: FaultDial, Addr: l.target(), Err: err})
		}
		if refused {
			l.discard(DropRefused)
		} else {
			l.discard(DropUnreachable)
		}
		return
	}
	l.mu.Lock()
	if l.refused = nil; refused {
		l.refused = cause
		l.progress.Made()
	}
	l.mu.Unlock()
	if refused {
		l.discard(DropRefused)
	}
	if l.ctx.Err() == nil {
		l.m.fault(Fault{Kind: FaultDial, Peer: l.peer, Addr: l.target(), Err: err})
	}
}

// serve writes frames to conn until it ends. Nil says that the link is closed.
func (l *link) serve(conn net.Conn, gen uint64, idle *time.Timer) error {
	stop := context.AfterFunc(l.ctx, func() { abort(conn) })
	lost := make(chan struct{})
	e := &ending{asked: make(chan struct{})}
	go l.watch(conn, lost, e)
	l.becomeUp(gen)
	err := l.pump(conn, lost, e, idle)
	stop()
	conn.Close()
	<-lost
	if e.known {
		l.resume(answer{Received: l.received()})
	}
	l.becomeDown(gen, err)
	return err
}

func (l *link) pump(conn net.Conn, lost <-chan struct{}, e *ending, idle *time.Timer) error {
	for {
		if e.isAsked() {
			l.obey(conn, lost)
			return errEndAsked
		}
		if l.lane == Data && !l.awaitReceipts(lost, l.m.cfg.DataKeepMax) {
			return errLost
		}
		batch, frames, err := l.take(lost, e.asked, idle)
		if err == errEndAsked {
			continue
		}
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			if l.peer == 0 && !l.retire() {
				continue
			}
			l.settle(conn, lost)
			return nil
		}
		if err := l.write(conn, batch, frames); err != nil {
			return err
		}
		l.m.n.framesOut.Add(uint64(frames))
		l.m.n.bytesOut.Add(uint64(len(batch)))
		l.m.n.writes.Add(1)
	}
}

// write writes a batch and says what becomes of it: it is kept, used again, or lost in part.
func (l *link) write(conn net.Conn, batch []byte, frames int) error {
	if l.lane == Data {
		last := l.writing(frames)
		_, err := l.writeAll(conn, batch)
		l.keep(batch, last)
		return err
	}
	written, err := l.writeAll(conn, batch)
	if err != nil {
		l.requeue(batch, frames, written)
		return err
	}
	l.recycle(batch)
	return nil
}

// writeAll writes b, with a deadline for every writeMax bytes: what is large may take long, as long
// as it gets on.
func (l *link) writeAll(conn net.Conn, b []byte) (written int, err error) {
	for err == nil && written < len(b) {
		if err = conn.SetWriteDeadline(time.Now().Add(l.m.cfg.WriteTimeout)); err != nil {
			break
		}
		var n int
		n, err = conn.Write(b[written:min(written+writeMax, len(b))])
		written += n
	}
	return written, err
}

func (l *link) becomeUp(gen uint64) {
	l.mu.Lock()
	l.state = LinkState{Up: true, Generation: gen}
	l.refused, l.departed = nil, false
	l.mu.Unlock()
	l.m.n.linksUp.Add(1)
	l.report(LinkEvent{Up: true, Generation: gen})
}

func (l *link) becomeDown(gen uint64, err error) {
	l.mu.Lock()
	l.state.Up = false
	if l.phase == phaseClosing {
		err = nil
	}
	l.mu.Unlock()
	l.m.n.linksUp.Add(-1)
	l.report(LinkEvent{Generation: gen, Err: err})
}

func (l *link) report(e LinkEvent) {
	if l.peer == 0 {
		return
	}
	e.Peer, e.Lane, e.Stripe = l.peer, l.lane, l.stripe
	if l.m.cfg.OnLink != nil {
		l.m.cfg.OnLink(e)
	}
}

// abort closes a connection without the farewell of TLS, which could block.
func abort(conn net.Conn) {
	if tc, ok := conn.(*tls.Conn); ok {
		conn = tc.NetConn()
	}
	conn.Close()
}
