package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/coterie-go/coterie/ddata/address"
)

// Mesh is a node's Transport. It is the sum of its two directions, which know nothing of each other
// except what peerBook says: outbound has the links, inbound the listener and the readers.
type Mesh struct {
	local    local
	n        counters
	report   reporter
	channels channels
	out      outbound
	in       inbound

	ctx    context.Context // ends when Close has lingered
	cancel context.CancelFunc
	all    sync.WaitGroup // every goroutine
}

var (
	_ Transport = (*Mesh)(nil)
	_ peerBook  = (*outbound)(nil)
)

// Listen opens the listener and returns the running transport. ctx bounds the opening only.
func Listen(ctx context.Context, cfg Config) (*Mesh, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	ln, err := cfg.Network.Listen(ctx, cfg.Bind)
	if err != nil {
		return nil, listenError(cfg.Bind, err)
	}
	addr, err := advertised(cfg, ln.Addr().String())
	if err == nil {
		err = checkOwn(cfg.TLS, addr)
	}
	if err != nil {
		ln.Close()
		return nil, err
	}
	m := newMesh(cfg, addr, ln)
	m.all.Go(m.in.accept)
	return m, nil
}

// newMesh returns a transport that accepts no connections yet.
func newMesh(cfg Config, addr string, ln net.Listener) *Mesh {
	m := &Mesh{local: local{cfg: &cfg, addr: addr}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.report.init(&cfg, &m.n)
	m.channels.init(&m.n)
	m.out.init(m.ctx, &m.local, &m.channels, &m.report, &m.all)
	m.in.init(m.ctx, ln, &m.local, &m.channels, &m.report, &m.out, &m.all)
	return m
}

// advertised is the address that others shall dial: what Config says, with the listener's port
// where that is 0.
func advertised(cfg Config, listening string) (string, error) {
	_, port, err := net.SplitHostPort(listening)
	if err != nil {
		return "", fmt.Errorf("%w: the listener says %q", ErrBadAddr, listening)
	}
	if cfg.Advertise == "" {
		if !address.NamesHost(listening) {
			return "", fmt.Errorf("%w %q: other nodes cannot dial this address; "+
				"set Config.Advertise to the host and port at which they reach this node", ErrBadAddr, cfg.Bind)
		}
		return listening, nil
	}
	host, want, err := net.SplitHostPort(cfg.Advertise)
	if err != nil {
		return "", err
	}
	if want == "0" {
		want = port
	}
	addr := net.JoinHostPort(host, want)
	if err := address.CheckPeer(addr); err != nil {
		return "", fmt.Errorf("transport: config: Advertise: %w", err)
	}
	return addr, nil
}

// Self is this node's id.
func (m *Mesh) Self() NodeID { return m.local.cfg.Self }

// Addr is the address at which others dial this node.
func (m *Mesh) Addr() string { return m.local.addr }

// Stats is a snapshot of the counters.
func (m *Mesh) Stats() Stats { return m.n.snapshot() }

// CountDrop adds frames to Stats that a handler took and gave up.
func (m *Mesh) CountDrop(why Drop, frames int) { m.n.drop(why, frames) }

// Handle registers the handler of a channel.
func (m *Mesh) Handle(ch Channel, h Handler) { m.channels.handle(ch, h) }

// HandleRest registers rest, which returns the handler for the frames of a channel without one.
// Where it returns nil they are counted and dropped. It must be quick.
func (m *Mesh) HandleRest(rest func(Channel) Handler) { m.channels.rest.Store(&rest) }

// HandleStream registers accept for the streams of a channel.
func (m *Mesh) HandleStream(ch Channel, accept func(from NodeID, conn net.Conn)) {
	m.channels.handleStream(ch, accept)
}

// SetPeers makes the set of peers what the map says.
func (m *Mesh) SetPeers(peers map[NodeID]string) error {
	var errs []error
	for id := range *m.out.peers.Load() {
		if _, ok := peers[id]; !ok {
			m.RemovePeer(id)
		}
	}
	for id, addr := range peers {
		if err := m.AddPeer(id, addr); err != nil && id != m.Self() {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// AddPeer wants links to a node.
func (m *Mesh) AddPeer(id NodeID, addr string) error {
	if id == m.Self() {
		return ErrSelf
	}
	if err := address.CheckPeer(addr); err != nil {
		return err
	}
	if id == 0 {
		return fmt.Errorf("%w: node id 0", ErrNoPeer)
	}
	p, err := m.out.add(id, addr)
	if err != nil {
		return err
	}
	m.in.unmask(id)
	p.control.q.start()
	return nil
}

// RemovePeer ends the links to a node.
func (m *Mesh) RemovePeer(id NodeID) {
	p, ok := m.out.remove(id)
	if !ok {
		return
	}
	m.in.gates.forget(id)
	for _, l := range p.all() {
		l.close(ErrNoPeer)
	}
}

// Connected tells the state of one outgoing link.
func (m *Mesh) Connected(id NodeID, lane Lane, stripe uint32) LinkState {
	l, err := m.out.link(id, lane, stripe)
	if err != nil {
		return LinkState{}
	}
	return l.q.state()
}

// PeerAddr is the address of a peer, or of a node that has a connection to this one.
func (m *Mesh) PeerAddr(id NodeID) (string, bool) {
	if addr, known := m.out.target(id); known {
		return addr, true
	}
	return m.in.origins.addr(id)
}

// AddrPeer is the node that answered at an address of SendAddr.
func (m *Mesh) AddrPeer(addr string) (NodeID, bool) {
	if addr == m.Addr() {
		return m.Self(), true
	}
	return m.out.answering(addr)
}

// DialStream opens a stream to the process that listens at addr.
func (m *Mesh) DialStream(ctx context.Context, addr string, ch Channel) (net.Conn, error) {
	if err := address.CheckPeer(addr); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	conn, _, err := m.out.dialler.dial(ctx, addr, kindStream, hello{Channel: ch})
	if m.ctx.Err() != nil {
		err = ErrClosed
	}
	if err == nil && !m.in.conns.add(conn) {
		err = ErrClosed
	}
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, err
	}
	return m.in.conns.stream(conn, conn), nil
}
