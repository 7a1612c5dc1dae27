package gossip

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/coterie-go/coterie/ddata/transport"
)

var channel = transport.ChannelOf("gossip/memberlist")

// bridge is memberlist's Transport over ours.
type bridge struct {
	t       transport.Transport
	label   string // the cluster's name
	note    func(Note)
	ip      net.IP
	port    int
	n       *counters
	ctx     context.Context
	stop    context.CancelFunc
	packets chan *memberlist.Packet // that others sent
	// memberlist's next one; without a buffer, so that taking one shows that it is done with the
	// one before
	reads   chan *memberlist.Packet
	read    chan struct{} // closed when nothing more is passed on
	streams chan net.Conn

	held     atomic.Int64  // bytes for what is being read from streams
	patience time.Duration // for at most so long memberlist waits for an answer

	mu    sync.Mutex
	conns map[*stream]struct{} // open streams, to be closed by Shutdown; nil after it
	taken []*stream            // of those, the ones that others opened, in their order
	pings pings
}

var _ memberlist.NodeAwareTransport = (*bridge)(nil)

func newBridge(ctx context.Context, t transport.Transport, cfg Config, ip net.IP, port int, n *counters) *bridge {
	b := &bridge{
		t: t, label: cfg.Cluster, note: cfg.OnNote, ip: ip, port: port, n: n, conns: map[*stream]struct{}{},
		packets: make(chan *memberlist.Packet, packetsWaiting), reads: make(chan *memberlist.Packet),
		read:    make(chan struct{}),
		streams: make(chan net.Conn),
	}
	b.ctx, b.stop = context.WithCancel(ctx)
	go b.pass()
	t.Handle(channel, b)
	t.HandleStream(channel, b.accept)
	return b
}

// Receive takes one packet. It never waits: memberlist's packets may be lost, the frames behind
// them may not.
func (b *bridge) Receive(from transport.NodeID, payload []byte) {
	if err := screenPacket(payload, b.label); err != nil {
		b.refuse(err, from.String())
		return
	}
	addr, _ := b.t.PeerAddr(from)
	p := &memberlist.Packet{Buf: bytes.Clone(payload), From: sender(addr), Timestamp: time.Now()}
	select {
	case b.packets <- p:
		b.n.packetsIn.Add(1)
	default:
		b.n.packetsDropped.Add(1)
	}
}

// accept hands an incoming stream to memberlist.
func (b *bridge) accept(_ transport.NodeID, conn net.Conn) {
	s := b.track(conn, true)
	if s == nil {
		return
	}
	select {
	case b.streams <- s:
	case <-b.ctx.Done():
		s.Close()
	}
}

// refuse counts what was turned away, and why.
func (b *bridge) refuse(err error, from string) {
	if e, ok := errors.AsType[errScreened](err); ok {
		b.n.refused[e.why].Add(1)
		b.note(Note{Text: "turned away", Addr: from, Err: err})
	}
}

// FinalAdvertiseAddr tells the transport's address.
func (b *bridge) FinalAdvertiseAddr(string, int) (net.IP, int, error) { return b.ip, b.port, nil }

// PacketCh gives the packets.
func (b *bridge) PacketCh() <-chan *memberlist.Packet { return b.reads }

// StreamCh gives the incoming streams.
func (b *bridge) StreamCh() <-chan net.Conn { return b.streams }

// WriteTo sends a packet to an address.
func (b *bridge) WriteTo(p []byte, addr string) (time.Time, error) {
	return b.WriteToAddress(p, memberlist.Address{Addr: addr})
}

// WriteToAddress sends a packet to a node.
//
// A packet that is lost is no error: memberlist gives a probe up when its ping could not be sent,
// and would never suspect a node to which it cannot send.
func (b *bridge) WriteToAddress(p []byte, to memberlist.Address) (time.Time, error) {
	if !b.notePing(p) {
		return time.Time{}, ErrClosed
	}
	addr, id, ok := parseName(to.Name)
	if !ok {
		addr = to.Addr
	}
	err := b.t.SendPacket(id, addr, channel, p)
	switch {
	case err == nil:
		b.n.packetsOut.Add(1)
	case errors.Is(err, transport.ErrClosed):
		return time.Time{}, err
	default:
		b.n.packetsLost.Add(1)
	}
	return time.Now(), nil
}

// DialTimeout opens a stream to an address.
func (b *bridge) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	return b.DialAddressTimeout(memberlist.Address{Addr: addr}, timeout)
}

// DialAddressTimeout opens a stream to a node.
func (b *bridge) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	addr, _, ok := parseName(to.Name)
	if !ok {
		addr = to.Addr
	}
	ctx, cancel := context.WithTimeout(b.ctx, timeout)
	defer cancel()
	conn, err := b.t.DialStream(ctx, addr, channel)
	if err != nil {
		return nil, err
	}
	if s := b.track(conn, false); s != nil {
		return s, nil
	}
	return nil, ErrClosed
}

// Shutdown ends the probes that are under way, closes every stream and lets go of the transport,
// which stays open. memberlist calls it once, while it still reads packets.
func (b *bridge) Shutdown() error {
	b.stop()
	b.endPings()
	b.close()
	return nil
}

// close closes every stream and lets go of the transport.
func (b *bridge) close() {
	b.stop()
	b.t.Handle(channel, nil)
	b.t.HandleStream(channel, nil)
	b.mu.Lock()
	open := b.conns
	b.conns, b.taken = nil, nil
	b.mu.Unlock()
	for s := range open {
		s.Conn.Close()
	}
}

// sender is the net.Addr of a packet's sender.
type sender string

// Network names the kind of address.
func (s sender) Network() string { return "coterie" }

// String is the address itself.
func (s sender) String() string { return string(s) }
