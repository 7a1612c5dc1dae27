package transport

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/address"
)

// inbound is what other nodes make of this one's port: it accepts connections, finds out what they
// are for, and has them read.
type inbound struct {
	local    *local
	listener net.Listener
	ctx      context.Context // of the node
	n        *counters
	report   *reporter
	channels *channels
	peers    peerBook

	conns   conns
	gates   gates
	origins origins
	reader  reader
}

// peerBook is what inbound asks of the other direction.
type peerBook interface {
	// isPeer reports whether links are kept to a node.
	isPeer(id NodeID) bool
	// target is the address of a peer.
	target(id NodeID) (addr string, known bool)
	// dialNow has the links to a node dial at once, if it is a peer.
	dialNow(id NodeID)
}

// init prepares inbound for accept; all waits for its goroutines too.
func (in *inbound) init(
	ctx context.Context, ln net.Listener, local *local, c *channels, r *reporter, peers peerBook, all *sync.WaitGroup,
) {
	in.local, in.listener, in.ctx = local, ln, ctx
	in.n, in.report, in.channels, in.peers = r.n, r, c, peers
	in.conns.init(local.cfg.ConnsMax, r.n, all)
	in.gates.init(local.cfg, peers.isPeer)
	in.origins = origins{roomMax: local.cfg.MessageMax, byID: map[NodeID]*origin{}}
	in.reader = reader{cfg: local.cfg, closed: ctx.Done(), n: r.n, channels: c}
}

// accept takes connections until the listener is closed.
func (in *inbound) accept() {
	wait := backoff{min: 5 * time.Millisecond, max: time.Second}
	for {
		conn, err := in.listener.Accept()
		if in.conns.isClosed() {
			if err == nil {
				conn.Close()
			}
			return
		}
		if err != nil { // out of file descriptors, most likely: it passes
			in.report.tell(ConnectionFault{Kind: FaultAccept, Addr: in.local.addr, Err: err, Loud: true})
			t := time.NewTimer(wait.pause())
			select {
			case <-t.C:
			case <-in.ctx.Done():
			}
			t.Stop()
			continue
		}
		wait.reset()
		in.n.accepted.Add(1)
		place := in.conns.admit(conn)
		if place == nil {
			in.n.drop(DropOverload, 1)
			conn.Close()
			continue
		}
		if !in.conns.spawn(conn, func() { in.welcome(conn, place) }) {
			conn.Close()
		}
	}
}

// welcome reads the hello of an accepted connection and serves what it asks for.
func (in *inbound) welcome(raw net.Conn, place *list.Element) {
	conn, k, h, err := in.readHello(raw)
	in.conns.greeted(place)
	if err != nil {
		in.conns.drop(raw)
		return
	}
	switch k {
	case kindStream:
		in.serveStream(raw, conn, h)
	case kindAddr:
		in.serveFrames(raw, conn, h, nil)
	case kindLink:
		in.serveLink(raw, conn, h)
	}
}

// readHello completes TLS and the first half of the handshake. An error has been answered and
// counted.
func (in *inbound) readHello(raw net.Conn) (conn net.Conn, k kind, h hello, err error) {
	conn = raw
	if err := conn.SetDeadline(time.Now().Add(in.local.cfg.HelloTimeout)); err != nil {
		in.n.drop(DropHandshake, 1)
		return nil, 0, h, err
	}
	if in.local.cfg.TLS != nil {
		if conn, err = in.secure(raw); err != nil {
			return nil, 0, h, err
		}
	}
	k, body, err := readHandshake(conn)
	if err == nil {
		if h, err = decodeHello(body); err != nil {
			err = ErrRefused{Reason: RefusedHello, Text: err.Error()}
		} else {
			accepts := in.channels.acceptor(h.Channel) != nil
			err = cmp.Or(in.local.vet(k, h, accepts), in.local.fits(conn, h.Addr), in.speaksFor(conn, h.From))
		}
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err == nil {
		return conn, k, h, nil
	}
	in.refuse(conn, h, err)
	return nil, 0, h, err
}

// secure puts TLS on an accepted connection. A failure is counted and told.
func (in *inbound) secure(raw net.Conn) (net.Conn, error) {
	tc := tls.Server(raw, in.local.cfg.TLS.Server())
	err := tc.HandshakeContext(in.ctx)
	if err == nil {
		return tc, nil
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		err = ErrRefused{Reason: RefusedTLS, Text: textTLS}
		in.refuse(raw, hello{}, err)
		return nil, err
	}
	in.n.drop(DropHandshake, 1)
	if in.ctx.Err() == nil && !ended(err) { // else a probe of a load balancer, or a node that was closed
		cause := ErrRefused{Reason: RefusedTLS, Text: err.Error()}
		in.report.refused(Refusal{Inbound: true, Addr: hostOf(raw), Cause: cause})
	}
	return nil, err
}

// speaksFor reports whether a connection may speak for a node id. Of a node that is no peer nothing
// is known.
func (in *inbound) speaksFor(conn net.Conn, id NodeID) error {
	addr, known := in.peers.target(id)
	if !known {
		return nil
	}
	return in.local.speaksFor(conn, id, addr)
}

// unmask ends the connections that were made in the name of a node that is a peer now, and may not
// speak for it.
func (in *inbound) unmask(id NodeID) {
	if in.local.cfg.TLS == nil {
		return
	}
	from, open := in.origins.of(id)
	for raw, conn := range open { // order: each is ended for itself
		if cause, bad := errors.AsType[ErrRefused](in.speaksFor(conn, id)); bad {
			in.n.drop(DropRefusedIn, 1)
			in.report.refused(Refusal{Inbound: true, Peer: id, Addr: from, Cause: cause})
			abort(raw)
		}
	}
}

// refuse answers a connection that is not taken, as far as it deserves an answer, and counts it.
func (in *inbound) refuse(conn net.Conn, h hello, err error) {
	cause, ok := errors.AsType[ErrRefused](err)
	if v, is := errors.AsType[errVersion](err); is {
		cause, ok = ErrRefused{Reason: RefusedVersion, Text: v.Error()}, true
	}
	switch {
	case errors.Is(err, ErrProtocol):
		in.report.protocol(ConnectionFault{Kind: FaultStranger, Addr: conn.RemoteAddr().String(), Err: err})
	case !ok:
		in.n.drop(DropHandshake, 1)
	default:
		in.n.drop(DropRefusedIn, 1)
		in.reply(conn, kindRefusal, answer{Reason: cause.Reason, Text: clip(cause.Text)})
		addr := h.Addr
		if address.CheckPeer(addr) != nil {
			addr = hostOf(conn)
		}
		in.report.refused(Refusal{Inbound: true, Peer: h.From, Meant: h.To, Addr: addr, Cause: cause})
	}
}

// reply writes the second half of a handshake.
func (in *inbound) reply(conn net.Conn, k kind, a answer) bool {
	a.From = in.local.cfg.Self
	b, err := appendHandshake(nil, k, a)
	if err != nil {
		return false
	}
	if err := conn.SetWriteDeadline(time.Now().Add(in.local.cfg.HelloTimeout)); err != nil {
		return false
	}
	if _, err := conn.Write(b); err != nil {
		return false
	}
	return conn.SetWriteDeadline(time.Time{}) == nil
}

// serveLink serves a connection of a peer's link once its predecessor has ended.
func (in *inbound) serveLink(raw, conn net.Conn, h hello) {
	key := gateKey{peer: h.From, lane: h.Lane, stripe: h.Stripe}
	t := newTurn(conn, h)
	if err := in.gates.enter(key, t); err != nil {
		in.refuse(conn, h, err)
		in.conns.drop(raw)
		return
	}
	select {
	case <-t.begin:
		in.serveFrames(raw, conn, h, t)
	case <-t.obsolete:
		in.conns.drop(raw)
	case <-in.ctx.Done():
		in.conns.drop(raw)
	}
	in.gates.leave(key, t)
}

// serveFrames welcomes a one-way connection and reads it to its end. t is nil for one that has no
// gate.
func (in *inbound) serveFrames(raw, conn net.Conn, h hello, t *turn) {
	room := in.origins.enlist(h, raw, conn)
	defer in.origins.delist(h, raw)
	defer in.conns.drop(raw)
	if err := in.speaksFor(conn, h.From); err != nil { // a peer since its hello was read
		in.refuse(conn, h, err)
		return
	}
	var welcome answer
	if t != nil && h.Lane == Data {
		t.room = room
		in.gates.countFrom(gateKey{peer: h.From, lane: h.Lane, stripe: h.Stripe}, t, conn, &welcome)
	}
	if !in.reply(conn, kindWelcome, welcome) {
		in.n.drop(DropHandshake, 1)
		return
	}
	if t != nil {
		t.receipts.Open()
	}
	in.peers.dialNow(h.From) // it has just shown that it is there
	in.n.readers.Add(1)
	defer in.n.readers.Add(-1)
	err := in.reader.read(conn, h.From, t)
	switch {
	case in.conns.isClosed():
	case errors.Is(err, ErrProtocol):
		in.report.protocol(ConnectionFault{Kind: FaultProtocol, Peer: h.From, Addr: h.Addr, Err: err})
	default:
		in.report.tell(ConnectionFault{Kind: FaultEnded, Peer: h.From, Addr: h.Addr, Err: err})
	}
}

// serveStream hands an accepted stream to its acceptor.
func (in *inbound) serveStream(raw, conn net.Conn, h hello) {
	accept := in.channels.acceptor(h.Channel)
	if accept == nil || !in.reply(conn, kindWelcome, answer{}) {
		in.conns.drop(raw)
		return
	}
	accept(h.From, in.conns.stream(raw, conn))
}
