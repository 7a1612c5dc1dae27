package transport

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// NodeID is the uid of one process incarnation. Zero stands for no node.
type NodeID uint64

// String prints the lower half of the id as hex, as logs of all layers name a node; of a small one,
// all of it.
func (n NodeID) String() string {
	if n > 0xffffffff {
		return fmt.Sprintf("%08x", uint32(n))
	}
	return strconv.FormatUint(uint64(n), 16)
}

// Lane is a class of traffic with connections and a queue bound of its own.
type Lane uint8

const (
	// Control carries what must not wait behind data: heartbeats, views, acks.
	Control Lane = iota
	// Data carries entity messages, striped over several connections.
	Data
	// Bulk carries large transfers, such as snapshots.
	Bulk
	lanes
)

// String prints the lane's name.
func (l Lane) String() string {
	switch l {
	case Control:
		return "control"
	case Data:
		return "data"
	case Bulk:
		return "bulk"
	}
	return "lane" + strconv.Itoa(int(l))
}

// Channel names the subsystem that a frame is for. Both ends derive it from a
// name with ChannelOf.
type Channel uint64

// ChannelOf returns the stable 64-bit FNV-1a hash of name. Nothing on the wire tells two names
// with one hash apart. With 64 bits a cluster of a million names has such a pair by chance once
// in 37 million clusters; with 32 bits one of 10,000 names has one with a chance of 1 in 86.
func ChannelOf(name string) Channel {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return Channel(h)
}

// String prints the channel as hex.
func (c Channel) String() string { return strconv.FormatUint(uint64(c), 16) }

// Handler takes the frames of one channel.
//
// Receive is called by the reader of a connection: one call at a time and in
// FIFO order per (peer, lane, stripe), concurrently for different ones. payload
// is valid during the call only. Receive must not wait for anything that needs
// another frame of the same connection; while it runs, that connection is not
// read and its sender's queue fills.
type Handler interface {
	Receive(from NodeID, payload []byte)
}

// BatchHandler is a Handler that takes several frames at once. ReceiveAll is called in place of Receive with
// frames that came together: at most BatchMax, in their order. payloads and what they hold are valid during
// the call only.
type BatchHandler interface {
	Handler
	ReceiveAll(from NodeID, payloads [][]byte)
}

// LossHandler is a Handler that wants to know what was lost. Lost gets each frame of its channel
// that was accepted for the Data lane and may never arrive, because the peer was removed, died or
// refuses, or this transport was closed. A frame that was sent may have arrived all the same.
// Frames that were not sent have not arrived, and come in the order in which they were appended.
// What waits for a peer without a connection comes before RemovePeer returns. Lost must be quick;
// payload is valid during the call only.
type LossHandler interface {
	Handler
	Lost(to NodeID, payload []byte, sent bool)
}

// HandlerFunc makes a Handler of a function.
type HandlerFunc func(from NodeID, payload []byte)

// Receive calls f.
func (f HandlerFunc) Receive(from NodeID, payload []byte) { f(from, payload) }

// Transport is what the layers above see of a Mesh. All methods may be called
// concurrently.
type Transport interface {
	Identity
	Sender
	Peers
	Streams
	Endings

	// Handle registers the handler of a channel; nil takes it away. Frames of
	// channels without a handler are counted and dropped. A frame that is being
	// handled during the call may still reach the handler of before.
	Handle(ch Channel, h Handler)

	// Stats is a snapshot of the counters.
	Stats() Stats

	// CountDrop adds frames to Stats that a handler took and gave up.
	CountDrop(why Drop, frames int)

	// Close stops everything and waits until no goroutine of the transport and no handler runs any
	// more, so it must not be called from a handler or from OnEvent. For at most Config.Linger,
	// queued frames are written, and other nodes end the Data lane as by Depart. It returns nil
	// when it is called again.
	Close() error
}

// Endings are the two halves of an orderly end: what this node has sent was received, and others
// know what it has received.
type Endings interface {
	// Flush waits until the peers have received what was queued for them in the Data lane before
	// the call: their handlers have returned. It does not wait for a peer that departs, nor for one
	// that acknowledges nothing for Config.Linger.
	//
	// Errors: ErrUnreceived, with each connection whose peer has not received everything.
	Flush(ctx context.Context) error
	// Depart has other nodes send nothing more in the Data lane, and waits until their connections
	// of that lane have ended, or ctx has. Each of them then knows which of its frames were
	// received here. It keeps the others, and their LossHandlers get these as never sent when this
	// node is removed.
	Depart(ctx context.Context) error
}

// Identity names this node.
type Identity interface {
	// Self is this node's id.
	Self() NodeID
	// Addr is the address (host:port) at which others dial this node.
	Addr() string
}

// Sender queues frames. Every method copies the payload. None but AppendWait
// waits for anything but a short lock. A nil error means queued, not delivered.
//
// Errors: ErrNoPeer, ErrSelf, ErrQueueFull, ErrFrameTooLarge, ErrClosed, ErrRefused
// (the peer's address is held by another incarnation), a bad lane.
type Sender interface {
	// Send queues one frame for a peer. stripe picks one of the Data lane's
	// connections (modulo Config.DataStripes) and means nothing in the others.
	Send(to NodeID, lane Lane, stripe uint32, ch Channel, payload []byte) error

	// SendAddr queues one frame for the process that listens at addr, in the Control lane of a
	// connection that is closed again when it was idle for a while. If no node answers the first
	// attempt to connect, the frame is counted and dropped.
	SendAddr(addr string, ch Channel, payload []byte) error

	// SendPacket queues one frame that may be lost at will: to the peer when to is one, else to the
	// process that listens at addr. When more than Config.PacketQueueMax bytes wait there, it drops
	// and counts the frame, and returns ErrQueueFull.
	SendPacket(to NodeID, addr string, ch Channel, payload []byte) error

	// Append is Send for a caller that builds the payload in place. Under the lock that orders the
	// lane, and only if there is room, it calls check (which may be nil). When that returns nil it
	// calls fill, which appends the payload to dst and returns the result. An error of check is
	// returned as it is and nothing is queued. Neither function may block or call the transport.
	Append(to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error) error

	// AppendWait is Append that waits for room. When ctx ends before there is
	// room, the error is ErrQueueFull and wraps ctx's error too. check runs after
	// the wait, at the moment of the append.
	AppendWait(
		ctx context.Context,
		to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error,
	) error
}

// Peers is the set of nodes that links are kept to.
type Peers interface {
	// SetPeers makes the set of peers what the map says (id → address). The node itself is left
	// out. Bad addresses are reported together; the others are added.
	SetPeers(peers map[NodeID]string) error
	// AddPeer wants links to a node: Control is dialled at once, the others with their
	// first frame, and all are dialled again until RemovePeer. Another address for
	// a known id is used from the next dial on. It fails for a bad address and for
	// the node itself.
	AddPeer(id NodeID, addr string) error
	// RemovePeer ends the links to a node, after at most Config.Linger. Its
	// connections to this node are its own affair and stay.
	RemovePeer(id NodeID)
	// Connected tells the state of one outgoing link.
	Connected(id NodeID, lane Lane, stripe uint32) LinkState
	// PeerAddr is the address of a peer, or the one that a node named in the hello of a connection
	// that is open now. A connection is open while one of its frames is handled.
	PeerAddr(id NodeID) (string, bool)
	// AddrPeer is the node that answered at addr when SendAddr last connected there; this node
	// itself when addr is another name of its own. It is forgotten when no node answers, or no
	// frame is sent there for Config.AddrIdle.
	AddrPeer(addr string) (NodeID, bool)
}

// Streams are raw connections through the same port, for protocols that bring
// their own framing.
type Streams interface {
	// DialStream opens a stream to the process that listens at addr. The caller closes it; Close of
	// the transport does so too.
	DialStream(ctx context.Context, addr string, ch Channel) (net.Conn, error)
	// HandleStream registers accept for the streams of a channel; nil takes it away. accept runs in
	// a goroutine of its own per stream, owns conn, and should return when conn is closed, as Close
	// waits for it.
	HandleStream(ch Channel, accept func(from NodeID, conn net.Conn))
}

// LinkState is the state of one outgoing link.
type LinkState struct {
	// Up says that the link has a connection that the peer has welcomed.
	Up bool
	// Generation is that of the current connection or, while down, of the last
	// one; zero when there was none.
	Generation uint64
}

// Event is what Config.OnEvent hears of: a LinkEvent, a Refusal or a ConnectionFault. It prints
// itself.
type Event interface {
	fmt.Stringer
	event()
}

func (LinkEvent) event()       {}
func (Refusal) event()         {}
func (ConnectionFault) event() {}

var (
	_ Event = LinkEvent{}
	_ Event = Refusal{}
	_ Event = ConnectionFault{}
)

// LinkEvent reports that an outgoing link went up or down.
type LinkEvent struct {
	Peer   NodeID
	Lane   Lane
	Stripe uint32
	// Up is reported before the first frame of a generation is written, Down after
	// the last. Both come from the link's own goroutine, in order.
	Up bool
	// Generation of the connection; it grows with every connection of a link.
	Generation uint64
	// Err is why the link went down; nil when it was closed.
	Err error
}

// String prints the event.
func (e LinkEvent) String() string {
	s := e.Peer.String() + "/" + e.Lane.String() + "/" + strconv.Itoa(int(e.Stripe))
	if e.Up {
		s += " up"
	} else {
		s += " down"
	}
	s += " generation " + strconv.FormatUint(e.Generation, 10)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Refusal reports that a connection was refused, by this side or by the other.
type Refusal struct {
	// Inbound: this node refused a connection that the other had dialled.
	Inbound bool
	// Peer is the node that refused or was refused; zero when unknown.
	Peer NodeID
	// Meant is the node that the dialler expected; zero when it named none.
	Meant NodeID
	// Addr is the address of the other side: the one dialled, or the one that the dialler
	// advertises, or its host when it could not say.
	Addr string
	// Cause tells the reason.
	Cause ErrRefused
	// Loud: an operator can mend it, and it was not said of this address within the last minute,
	// nor anything else within the last second.
	Loud bool
}

// String prints the refusal.
func (r Refusal) String() string {
	who := r.Addr
	if r.Peer != 0 {
		who = r.Peer.String() + " at " + r.Addr
	}
	if r.Inbound {
		return "refused " + who + ": " + r.Cause.Error()
	}
	return "refused by " + who + ": " + r.Cause.Error()
}

// FaultKind says what was the matter with a connection.
type FaultKind uint8

// The kinds of faults.
const (
	// no connections can be accepted at present: file descriptors are missing, most likely
	FaultAccept   FaultKind = iota
	FaultStranger           // a process that connects is no node of this cluster
	FaultProtocol           // the other side broke the protocol
	FaultEnded              // a connection that the other side had made has ended
	FaultDial               // a link cannot connect, and tries again
)

var faultNames = [...]string{
	"cannot accept connections at present", "not a Coterie node", "connection broke the protocol",
	"connection ended", "link cannot connect",
}

// String names the kind.
func (k FaultKind) String() string {
	if int(k) < len(faultNames) {
		return faultNames[k]
	}
	return "FaultKind(" + strconv.Itoa(int(k)) + ")"
}

// ConnectionFault reports that a connection ended, or could not be made.
type ConnectionFault struct {
	Kind FaultKind
	// Peer is the node on the other side; zero when unknown.
	Peer NodeID
	// Addr is the address of the other side; of FaultAccept the own one.
	Addr string
	// Err is what happened.
	Err error
	// Refused, of FaultDial in the Control lane: the machine answers, and the node is not there. No
	// process listens, or another incarnation does.
	Refused bool
	// Loud: an operator should look, and no more than one such thing was said within the last
	// second.
	Loud bool
}

// String prints the fault.
func (f ConnectionFault) String() string {
	s := f.Kind.String() + ": " + f.Addr
	if f.Peer != 0 {
		s += " " + f.Peer.String()
	}
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}
