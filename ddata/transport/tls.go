package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"reflect"
	"syscall"
)

// TLS secures the connections of a Mesh, those of gossip included. Both ends must show a
// certificate that the other accepts, before either says anything else. Package pki makes one of
// files. The methods are called for each connection, from any goroutine, and the configurations are
// not changed: what they return may be another one each time, as when certificates are renewed.
// Connections that are there go on.
type TLS interface {
	// Server is for an accepted connection. It has to demand and verify the certificate of the
	// other side.
	Server() *tls.Config
	// Client is for a connection that was dialled to a host, an IP address or a name.
	Client(host string) *tls.Config
}

// CheckTLS finds an identity that is not nil itself and holds nothing, as when the error of
// pki.Load was not looked at.
func CheckTLS(t TLS) error {
	if v := reflect.ValueOf(t); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("is a nil %T; look at the error of what made it", t)
	}
	return nil
}

// fits reports whether the certificate that was shown is good for the address at which its node
// says that it listens: the others would refuse it there.
func (m *Mesh) fits(conn net.Conn, addr string) error {
	tc, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	shown := tc.ConnectionState().PeerCertificates
	if len(shown) == 0 { // the configuration has ways of its own
		return nil
	}
	if err := goodFor(m.cfg.TLS, shown[0], addr); err != nil {
		return ErrRefused{Reason: RefusedTLS, Text: fmt.Sprintf("the node says that it listens at %s, and its certificate is not good for that: %v", addr, err)}
	}
	return nil
}

// speaksFor reports whether a connection may speak for a node id: the certificate that was shown
// must be good for the address at which the peers have that node. Of a node that is no peer nothing
// is known.
func (m *Mesh) speaksFor(conn net.Conn, id NodeID) error {
	tc, ok := conn.(*tls.Conn)
	p, known := (*m.peers.Load())[id]
	if !ok || !known {
		return nil
	}
	shown, addr := tc.ConnectionState().PeerCertificates, p.control.target()
	if len(shown) == 0 { // the configuration has ways of its own
		return nil
	}
	if err := goodFor(m.cfg.TLS, shown[0], addr); err != nil {
		return ErrRefused{Reason: RefusedTLS, Text: fmt.Sprintf("the node says that it is %v, which is at %s, and its certificate is not good for that: %v",
			id, addr, err)}
	}
	return nil
}

// unmask ends the connections that were made in the name of a node that is a peer now, and may not
// speak for it.
func (m *Mesh) unmask(id NodeID) {
	if m.cfg.TLS == nil {
		return
	}
	m.mu.Lock()
	var open map[net.Conn]net.Conn
	var from string
	if o, ok := m.inbound[id]; ok {
		open, from = maps.Clone(o.conns), o.addr
	}
	m.mu.Unlock()
	for raw, conn := range open { // order: each is ended for itself
		if cause, bad := errors.AsType[ErrRefused](m.speaksFor(conn, id)); bad {
			m.n.drop(DropRefusedIn, 1)
			m.onRefused(Refusal{Inbound: true, Peer: id, Addr: from, Cause: cause})
			abort(raw)
		}
	}
}

// goodFor returns an error if a node that dials addr would refuse, by its names, the certificate
// that the listener shows.
func goodFor(t TLS, shown *x509.Certificate, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	want := t.Client(host)
	if want.InsecureSkipVerify || want.ServerName == "" { // it has ways of its own
		return nil
	}
	return shown.VerifyHostname(want.ServerName)
}

// checkOwn returns an error if every peer would refuse this node's certificate at the address that
// the node advertises. A certificate that is made anew for each connection is not checked.
func checkOwn(t TLS, addr string) error {
	if t == nil {
		return nil
	}
	own := t.Server()
	if own == nil || len(own.Certificates) == 0 || len(own.Certificates[0].Certificate) == 0 {
		return nil
	}
	shown, err := x509.ParseCertificate(own.Certificates[0].Certificate[0])
	if err == nil {
		err = goodFor(t, shown, addr)
	}
	if err != nil {
		return fmt.Errorf("transport: config: TLS: this node's certificate is not good for %s, which it advertises: %w; give it one for that host, or "+
			"another Advertise", addr, err)
	}
	return nil
}

// secureInbound puts TLS on an accepted connection. A failure is counted and told.
func (m *Mesh) secureInbound(raw net.Conn) (net.Conn, error) {
	tc := tls.Server(raw, m.cfg.TLS.Server())
	err := tc.HandshakeContext(m.ctx)
	if err == nil {
		return tc, nil
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		err = ErrRefused{Reason: RefusedTLS, Text: textTLS}
		m.refuse(raw, hello{}, err)
		return nil, err
	}
	m.n.drop(DropHandshake, 1)
	if m.ctx.Err() == nil && !ended(err) { // else a probe of a load balancer, or a node that was closed
		m.onRefused(Refusal{Inbound: true, Addr: hostOf(raw), Cause: ErrRefused{Reason: RefusedTLS, Text: err.Error()}})
	}
	return nil, err
}

// secureOutbound puts TLS on a connection that was dialled.
func (m *Mesh) secureOutbound(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err == nil {
		tc := tls.Client(conn, m.cfg.TLS.Client(host))
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

// hostOf is where a connection comes from, without the port, which is another one each time.
func hostOf(conn net.Conn) string {
	addr := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// alerted is the refusal behind an error of a connection: with TLS 1.3 a client learns only when it
// reads that its certificate was not accepted.
func alerted(err error) (ErrRefused, bool) {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return ErrRefused{}, false
	}
	return ErrRefused{Reason: RefusedTLS, Text: err.Error()}, true
}

// textTLS tells either side of a pair of which only one uses TLS.
const textTLS = "one side uses TLS, the other does not"

// The first two bytes of an alert and of a hello of TLS.
const tlsAlert, tlsHello = "\x15\x03", "\x16\x03"

// ended reports whether the other side went away, or time is over. Any other error means that
// something did not fit.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET)
}
