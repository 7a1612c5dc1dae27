package transport

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Mesh is a node's Transport: its listener, its links and its readers.
//
// Locks: mu may be held while a link's mu is taken, never the other way round. Neither is held over
// a wait or a callback, except the check and fill of Append.
type Mesh struct {
	cfg        Config
	addr       string
	listener   net.Listener
	n          counters
	generation atomic.Uint64 // of the connection dialled last, by any link
	handlers   atomic.Pointer[map[Channel]Handler]
	rest       atomic.Pointer[func(Channel) Handler]
	acceptors  atomic.Pointer[map[Channel]acceptor]
	peers      atomic.Pointer[map[NodeID]*peer]
	closed     atomic.Bool  // no new work; set under mu
	warned     atomic.Int64 // when a refusal was last logged as a warning, in ns

	ctx    context.Context // ends when Close has lingered
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine
	linkWG sync.WaitGroup // those of links

	mu        sync.Mutex
	addrLinks map[string]*link
	conns     map[net.Conn]struct{} // accepted connections and streams, to be closed by Close
	inbound   map[NodeID]*origin    // the nodes that have connections to this one
	gates     map[gateKey]*gate
	newcomers list.List     // of newcomer; the oldest first
	quiet     chan struct{} // nil before this node departs; closed when the Data lane has no connection to it
	isQuiet   bool          // quiet is closed

	refusalsSaid map[string]time.Time // when a refusal was logged as a warning; at most refusalsSaidMax
}

var _ Transport = (*Mesh)(nil)

// peer is a node that links are kept to.
type peer struct {
	control, bulk *link
	data          []*link
}

func (p *peer) all() []*link { return append([]*link{p.control, p.bulk}, p.data...) }

func (p *peer) link(lane Lane, stripe uint32) (*link, error) {
	switch lane {
	case Control:
		return p.control, nil
	case Data:
		return p.data[stripe%uint32(len(p.data))], nil
	case Bulk:
		return p.bulk, nil
	}
	return nil, fmt.Errorf("%w: %v", ErrBadLane, lane)
}

// Listen opens the listener and returns the running transport. ctx bounds the opening only.
func Listen(ctx context.Context, cfg Config) (*Mesh, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
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
	m := &Mesh{
		cfg: cfg, addr: addr, listener: ln,
		addrLinks: map[string]*link{}, conns: map[net.Conn]struct{}{}, inbound: map[NodeID]*origin{},
		gates: map[gateKey]*gate{}, refusalsSaid: map[string]time.Time{},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.handlers.Store(&map[Channel]Handler{})
	m.acceptors.Store(&map[Channel]acceptor{})
	m.peers.Store(&map[NodeID]*peer{})
	m.wg.Add(1)
	go m.accept()
	return m, nil
}

// advertised is the address that others shall dial: what Config says, with the listener's port
// where that is 0.
func advertised(cfg Config, listening string) (string, error) {
	_, port, err := net.SplitHostPort(listening)
	if err != nil {
		return "", fmt.Errorf("%w: the listener says %q", ErrBadAddr, listening)
	}
	if cfg.Advertise == "" {
		if !NamesHost(listening) {
			return "", fmt.Errorf("%w %q: other nodes cannot dial this address; set Config.Advertise to the host and port at which they reach this node",
				ErrBadAddr, cfg.Bind)
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
	if err := checkAddr(addr, false); err != nil {
		return "", fmt.Errorf("transport: config: Advertise: %w", err)
	}
	return addr, nil
}

// Self is this node's id.
func (m *Mesh) Self() NodeID { return m.cfg.Self }

// Addr is the address at which others dial this node.
func (m *Mesh) Addr() string { return m.addr }

// Stats is a snapshot of the counters.
func (m *Mesh) Stats() Stats { return m.n.snapshot() }

// CountDrop adds frames to Stats that a handler took and gave up.
func (m *Mesh) CountDrop(why Drop, frames int) { m.n.drop(why, frames) }

// Handle registers the handler of a channel.
func (m *Mesh) Handle(ch Channel, h Handler) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := maps.Clone(*m.handlers.Load())
	if h == nil {
		delete(next, ch)
	} else {
		next[ch] = h
	}
	m.handlers.Store(&next)
}

// HandleRest registers rest, which returns the handler for the frames of a channel without one.
// Where it returns nil they are counted and dropped. It must be quick.
func (m *Mesh) HandleRest(rest func(Channel) Handler) { m.rest.Store(&rest) }

// handlerIn finds the handler that takes the frames of a channel.
func (m *Mesh) handlerIn(table map[Channel]Handler, ch Channel) Handler {
	h := table[ch]
	if rest := m.rest.Load(); h == nil && rest != nil {
		h = (*rest)(ch)
	}
	return h
}

// SetPeers makes the set of peers what the map says.
func (m *Mesh) SetPeers(peers map[NodeID]string) error {
	var errs []error
	for id := range *m.peers.Load() {
		if _, ok := peers[id]; !ok {
			m.RemovePeer(id)
		}
	}
	for id, addr := range peers {
		if err := m.AddPeer(id, addr); err != nil && id != m.cfg.Self {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// AddPeer wants links to a node.
func (m *Mesh) AddPeer(id NodeID, addr string) error {
	if id == m.cfg.Self {
		return ErrSelf
	}
	if err := checkAddr(addr, false); err != nil {
		return err
	}
	if id == 0 {
		return fmt.Errorf("%w: node id 0", ErrNoPeer)
	}
	m.mu.Lock()
	if m.closed.Load() {
		m.mu.Unlock()
		return ErrClosed
	}
	p, known := (*m.peers.Load())[id]
	if !known {
		p = m.newPeer(id, addr)
		next := maps.Clone(*m.peers.Load())
		next[id] = p
		m.peers.Store(&next)
	}
	m.mu.Unlock()
	for _, l := range p.all() {
		l.move(addr)
	}
	m.unmask(id)
	p.control.start()
	return nil
}

func (m *Mesh) newPeer(id NodeID, addr string) *peer {
	p := &peer{control: m.newLink(id, addr, Control, 0), bulk: m.newLink(id, addr, Bulk, 0), data: make([]*link, m.cfg.DataStripes)}
	for i := range p.data {
		p.data[i] = m.newLink(id, addr, Data, uint32(i))
	}
	return p
}

// move changes where the link dials.
func (l *link) move(addr string) {
	l.mu.Lock()
	moved := l.addr != addr
	l.addr = addr
	if moved {
		l.refused = nil
	}
	l.mu.Unlock()
	if moved {
		signal(l.kick)
	}
}

// RemovePeer ends the links to a node.
func (m *Mesh) RemovePeer(id NodeID) {
	m.mu.Lock()
	p, ok := (*m.peers.Load())[id]
	if ok {
		next := maps.Clone(*m.peers.Load())
		delete(next, id)
		m.peers.Store(&next)
		m.forgetGatesLocked(id)
	}
	m.mu.Unlock()
	if !ok {
		return
	}
	for _, l := range p.all() {
		l.close(m.cfg.Linger)
	}
}

// Connected tells the state of one outgoing link.
func (m *Mesh) Connected(id NodeID, lane Lane, stripe uint32) LinkState {
	l, err := m.link(id, lane, stripe)
	if err != nil {
		return LinkState{}
	}
	return l.linkState()
}

// PeerAddr is the address of a peer, or of a node that has a connection to this one.
func (m *Mesh) PeerAddr(id NodeID) (string, bool) {
	if p, ok := (*m.peers.Load())[id]; ok {
		p.control.mu.Lock()
		defer p.control.mu.Unlock()
		return p.control.addr, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.inbound[id]; ok {
		return o.addr, true
	}
	return "", false
}

// AddrPeer is the node that answered at an address of SendAddr.
func (m *Mesh) AddrPeer(addr string) (NodeID, bool) {
	if addr == m.addr {
		return m.cfg.Self, true
	}
	m.mu.Lock()
	l := m.addrLinks[addr]
	m.mu.Unlock()
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered, l.answered != 0
}

// Close stops everything and waits for it.
func (m *Mesh) Close() error {
	m.mu.Lock()
	first := !m.closed.Swap(true)
	links := m.linksLocked()
	m.mu.Unlock()
	if first {
		m.listener.Close()
		for _, l := range links {
			l.close(m.cfg.Linger)
		}
		m.awaitEnds(m.askToEnd())
		m.cancel()
		m.closeConns()
	}
	m.wg.Wait()
	return nil
}

func (m *Mesh) linksLocked() []*link {
	var links []*link
	for _, p := range *m.peers.Load() {
		links = append(links, p.all()...)
	}
	for _, l := range m.addrLinks {
		links = append(links, l)
	}
	return links
}

// awaitEnds waits until the links have written what they hold, and other nodes have ended theirs to
// this one, at most Linger.
func (m *Mesh) awaitEnds(quiet <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		m.linkWG.Wait()
		close(done)
	}()
	t := time.NewTimer(m.cfg.Linger)
	defer t.Stop()
	written := done
	for quiet != nil || written != nil {
		select {
		case <-written:
			written = nil
		case <-quiet:
			quiet = nil
		case <-t.C:
			m.cancel()
			<-done
			return
		}
	}
}

func (m *Mesh) closeConns() {
	m.mu.Lock()
	open := make([]net.Conn, 0, len(m.conns))
	for c := range m.conns {
		open = append(open, c)
	}
	m.mu.Unlock()
	for _, c := range open {
		abort(c)
	}
}
