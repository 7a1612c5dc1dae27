package transport

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// origin is a node that has connections to this one.
type origin struct {
	addr  string                // where it says that it listens
	conns map[net.Conn]net.Conn // as accepted, and with TLS
	room  *frame.Room           // for its messages in parts
}

// accept takes connections until the listener is closed.
func (m *Mesh) accept() {
	defer m.wg.Done()
	wait := backoff{min: 5 * time.Millisecond, max: time.Second}
	for {
		conn, err := m.listener.Accept()
		if m.closed.Load() {
			if err == nil {
				conn.Close()
			}
			return
		}
		if err != nil { // out of file descriptors, most likely: it passes
			m.fault(Fault{Kind: FaultAccept, Addr: m.addr, Err: err, Loud: true})
			t := time.NewTimer(wait.pause())
			select {
			case <-t.C:
			case <-m.ctx.Done():
			}
			t.Stop()
			continue
		}
		wait.reset()
		m.n.accepted.Add(1)
		place := m.admit(conn)
		if place == nil {
			m.n.drop(DropOverload, 1)
			conn.Close()
			continue
		}
		if !m.spawn(conn, func() { m.welcome(conn, place) }) {
			conn.Close()
		}
	}
}

// newcomer is an accepted connection whose hello has not come.
type newcomer struct {
	conn net.Conn
	from string // its source
}

// sourceOf names the host that a connection comes from: its address, of IPv6 the network of 64
// bits, which one host has whole.
func sourceOf(conn net.Conn) string {
	host := hostOf(conn)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Is4() || ip.Is4In6() {
		return host
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}

// crowdedLocked returns the newcomer that has to go: the oldest of the source that has the most. So
// a crowd from few hosts, however fast it comes, does not end the handshakes of others, which may
// take long on a slow line.
func (m *Mesh) crowdedLocked() *list.Element {
	count, most := map[string]int{}, 0
	for e := m.newcomers.Front(); e != nil; e = e.Next() {
		from := e.Value.(newcomer).from
		count[from]++
		most = max(most, count[from])
	}
	e := m.newcomers.Front()
	for count[e.Value.(newcomer).from] < most {
		e = e.Next()
	}
	return e
}

// admit gives an accepted connection a place among the newcomers, whose hello has not come; nil =
// there are too many connections. When there are too many newcomers, one has to go: a node says
// hello at once, and is not kept out by those that never do.
func (m *Mesh) admit(conn net.Conn) *list.Element {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.conns) >= m.cfg.ConnsMax {
		return nil
	}
	if m.newcomers.Len() >= handshakesMax {
		abort(m.newcomers.Remove(m.crowdedLocked()).(newcomer).conn)
		m.n.drop(DropOverload, 1)
	}
	return m.newcomers.PushBack(newcomer{conn: conn, from: sourceOf(conn)})
}

// greeted ends a newcomer's time as one.
func (m *Mesh) greeted(place *list.Element) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.newcomers.Remove(place) // nothing, if it had to go
}

// spawn runs f in a goroutine that Close waits for, and has Close abort conn. It does nothing but
// to say false once the mesh is closed.
func (m *Mesh) spawn(conn net.Conn, f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		return false
	}
	m.conns[conn] = struct{}{}
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		f()
	}()
	return true
}

// drop closes an accepted connection and forgets it.
func (m *Mesh) drop(conn net.Conn) {
	abort(conn)
	m.mu.Lock()
	delete(m.conns, conn)
	m.mu.Unlock()
}

// welcome reads the hello of an accepted connection and serves what it asks for.
func (m *Mesh) welcome(raw net.Conn, place *list.Element) {
	conn, k, h, err := m.readHello(raw)
	m.greeted(place)
	if err != nil {
		m.drop(raw)
		return
	}
	switch k {
	case kindStream:
		m.serveStream(raw, conn, h)
	case kindAddr:
		m.serveFrames(raw, conn, h, nil)
	case kindLink:
		m.serveLink(raw, conn, h)
	}
}

// readHello completes TLS and the first half of the handshake. An error has been answered and
// counted.
func (m *Mesh) readHello(raw net.Conn) (conn net.Conn, k kind, h hello, err error) {
	conn = raw
	if err := conn.SetDeadline(time.Now().Add(m.cfg.HelloTimeout)); err != nil {
		m.n.drop(DropHandshake, 1)
		return nil, 0, h, err
	}
	if m.cfg.TLS != nil {
		if conn, err = m.secureInbound(raw); err != nil {
			return nil, 0, h, err
		}
	}
	k, body, err := readHandshake(conn)
	if err == nil {
		h, err = decodeHello(body)
		if err != nil {
			err = ErrRefused{Reason: RefusedHello, Text: err.Error()}
		} else {
			err = cmp.Or(m.vet(k, h), m.fits(conn, h.Addr), m.speaksFor(conn, h.From))
		}
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err == nil {
		return conn, k, h, nil
	}
	m.refuse(conn, h, err)
	return nil, 0, h, err
}

// vet reports whether this node takes a connection with hello h.
func (m *Mesh) vet(k kind, h hello) error {
	refuse := func(r Reason, format string, args ...any) error {
		return ErrRefused{Reason: r, Text: fmt.Sprintf(format, args...)}
	}
	switch {
	case k != kindLink && k != kindAddr && k != kindStream:
		return refuse(RefusedHello, "kind %d", k)
	case h.Cluster != m.cfg.Cluster:
		return refuse(RefusedCluster, "%v at %s is of cluster %q, not of %q", m.cfg.Self, m.addr, m.cfg.Cluster, h.Cluster)
	case h.From == m.cfg.Self:
		return refuse(RefusedSelf, "%s is this node", m.addr)
	case (k == kindLink || h.To != 0) && h.To != m.cfg.Self:
		return refuse(RefusedIncarnation, "%s is %v now, not %v", m.addr, m.cfg.Self, h.To)
	case h.FrameMax > uint32(m.cfg.FrameMax):
		return refuse(RefusedLimit, "frames of up to %d bytes, here %d; set FrameMax alike on all nodes", h.FrameMax, m.cfg.FrameMax)
	case h.MessageMax > uint32(m.cfg.MessageMax):
		return refuse(RefusedLimit, "messages of up to %d bytes, here %d; set MessageMax alike on all nodes", h.MessageMax, m.cfg.MessageMax)
	case k == kindStream && (*m.acceptors.Load())[h.Channel] == nil:
		return refuse(RefusedStream, "channel %v", h.Channel)
	}
	return nil
}

// refuse answers a connection that is not taken, as far as it deserves an answer, and counts it.
func (m *Mesh) refuse(conn net.Conn, h hello, err error) {
	cause, ok := errors.AsType[ErrRefused](err)
	if v, is := errors.AsType[errVersion](err); is {
		cause, ok = ErrRefused{Reason: RefusedVersion, Text: v.Error()}, true
	}
	switch {
	case errors.Is(err, ErrProtocol):
		m.n.drop(DropProtocol, 1)
		m.fault(Fault{Kind: FaultStranger, Addr: conn.RemoteAddr().String(), Err: err, Loud: m.maySpeak()})
	case !ok:
		m.n.drop(DropHandshake, 1)
	default:
		m.n.drop(DropRefusedIn, 1)
		m.reply(conn, kindRefusal, answer{From: m.cfg.Self, Reason: cause.Reason, Text: clip(cause.Text)})
		addr := h.Addr
		if addr == "" {
			addr = hostOf(conn)
		}
		m.onRefused(Refusal{Inbound: true, Peer: h.From, Meant: h.To, Addr: addr, Cause: cause})
	}
}

// reply writes the second half of a handshake.
func (m *Mesh) reply(conn net.Conn, k kind, a answer) bool {
	b, err := appendHandshake(nil, k, a)
	if err != nil {
		return false
	}
	if err := conn.SetWriteDeadline(time.Now().Add(m.cfg.HelloTimeout)); err != nil {
		return false
	}
	if _, err := conn.Write(b); err != nil {
		return false
	}
	return conn.SetWriteDeadline(time.Time{}) == nil
}

// serveLink serves a connection of a peer's link once its predecessor has ended.
func (m *Mesh) serveLink(raw, conn net.Conn, h hello) {
	key := gateKey{peer: h.From, lane: h.Lane, stripe: h.Stripe}
	turn := &turn{conn: conn, generation: h.Generation, begin: make(chan struct{}), obsolete: make(chan struct{}), drain: make(chan struct{}),
		written: h.Written, acked: h.Acked}
	if err := m.enter(key, turn); err != nil {
		m.refuse(conn, h, err)
		m.drop(raw)
		return
	}
	select {
	case <-turn.begin:
		m.serveFrames(raw, conn, h, turn)
	case <-turn.obsolete:
		m.drop(raw)
	case <-m.ctx.Done():
		m.drop(raw)
	}
	m.leave(key, turn)
}

// serveFrames welcomes a one-way connection and reads it to its end. t is nil for one that has no
// gate.
func (m *Mesh) serveFrames(raw, conn net.Conn, h hello, t *turn) {
	o := m.enlist(h, raw, conn)
	defer m.delist(h, raw)
	defer m.drop(raw)
	if err := m.speaksFor(conn, h.From); err != nil { // a peer since its hello was read
		m.refuse(conn, h, err)
		return
	}
	welcome := answer{From: m.cfg.Self}
	if t != nil && h.Lane == Data {
		t.room = o.room
		m.countFrom(gateKey{peer: h.From, lane: h.Lane, stripe: h.Stripe}, t, conn, &welcome)
	}
	if !m.reply(conn, kindWelcome, welcome) {
		m.n.drop(DropHandshake, 1)
		return
	}
	if t != nil {
		t.receipts.open()
	}
	m.kickLinks(h.From)
	m.n.readers.Add(1)
	defer m.n.readers.Add(-1)
	err := m.readFrames(conn, h.From, t)
	switch {
	case m.closed.Load():
	case errors.Is(err, ErrProtocol):
		m.n.drop(DropProtocol, 1)
		m.fault(Fault{Kind: FaultProtocol, Peer: h.From, Addr: h.Addr, Err: err, Loud: m.maySpeak()})
	default:
		m.fault(Fault{Kind: FaultEnded, Peer: h.From, Addr: h.Addr, Err: err})
	}
}

// kickLinks has the links to a peer dial at once: it has just shown that it is there.
func (m *Mesh) kickLinks(id NodeID) {
	if p, ok := (*m.peers.Load())[id]; ok {
		for _, l := range p.all() {
			signal(l.kick)
		}
	}
}

func (m *Mesh) enlist(h hello, raw, conn net.Conn) *origin {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.inbound[h.From]
	if !ok {
		o = &origin{conns: map[net.Conn]net.Conn{}, room: frame.NewRoom(m.cfg.MessageMax)}
		m.inbound[h.From] = o
	}
	o.addr = h.Addr
	o.conns[raw] = conn
	return o
}

func (m *Mesh) delist(h hello, raw net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.inbound[h.From]
	if delete(o.conns, raw); len(o.conns) == 0 {
		delete(m.inbound, h.From)
	}
}

func (m *Mesh) fault(f Fault) {
	if m.cfg.OnFault != nil {
		m.cfg.OnFault(f)
	}
}
