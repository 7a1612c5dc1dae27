package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// dialler opens connections to other nodes and completes their handshakes.
type dialler struct {
	local  *local
	n      *counters
	report *reporter
}

// dial opens a connection of any kind and completes its handshake.
func (d *dialler) dial(ctx context.Context, addr string, k kind, h hello) (net.Conn, answer, error) {
	d.n.dials.Add(1)
	conn, err := d.open(ctx, addr)
	if err != nil {
		d.failed(0, h.To, addr, err)
		return nil, answer{}, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	a, err := d.greet(conn, k, h)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		return conn, a, nil
	}
	conn.Close()
	d.failed(a.From, h.To, addr, err)
	return nil, answer{}, err
}

// failed takes note of an attempt that failed; by is the node that answered, if one did.
func (d *dialler) failed(by, meant NodeID, addr string, err error) {
	d.n.dialErrors.Add(1)
	if cause, ok := errors.AsType[ErrRefused](err); ok {
		d.report.refusedBy(by, meant, addr, cause)
	}
}

func (d *dialler) open(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.local.cfg.DialTimeout)
	defer cancel()
	conn, err := d.local.cfg.Network.Dial(ctx, addr)
	if err != nil || d.local.cfg.TLS == nil {
		return conn, err
	}
	return d.secure(ctx, conn, addr)
}

// secure puts TLS on a connection.
func (d *dialler) secure(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err == nil {
		tc := tls.Client(conn, d.local.cfg.TLS.Client(host))
		if err = tc.HandshakeContext(ctx); err == nil {
			return tc, nil
		}
		if ctx.Err() == nil && !ended(err) {
			err = ErrRefused{Reason: RefusedTLS, Text: err.Error()}
		}
	}
	conn.Close()
	return nil, err
}

// greet sends the hello and reads the answer.
func (d *dialler) greet(conn net.Conn, k kind, h hello) (answer, error) {
	b, err := appendHandshake(nil, k, d.local.sign(h))
	if err != nil {
		return answer{}, err
	}
	if err := conn.SetDeadline(time.Now().Add(d.local.cfg.HelloTimeout)); err != nil {
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
