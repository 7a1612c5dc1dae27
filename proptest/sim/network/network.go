package network

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Lane mirrors the transport's lanes: the control lane may lose, repeat and reorder, as a queue
// that drops when full and a connection that breaks do. The data and bulk lanes are FIFO between
// two incarnations until their connection breaks.
type Lane uint8

const (
	Control Lane = iota // loses, repeats and reorders
	Data                // FIFO
	Bulk                // FIFO, for what is large
)

// Machine says for which machine of the receiver a payload is.
type Machine uint8

const (
	ToMember  Machine = iota // the membership machine
	ToReplica                // the replicator of a role
	ToShard                  // an extension
)

// Packet is a payload on its way. Its bytes belong to the packet: every message travels encoded, so
// that no two machines ever share memory. A machine has them only while it receives them, as with the transport.
type Packet struct {
	From    uint64
	lane    Lane
	number  uint64 // of the packet; a repeat has the same
	To      Machine
	Channel transport.Channel // of an extension, or of the replicators of a role
	Payload []byte
}

// Endpoint is a process, as the network sees it.
type Endpoint interface {
	fmt.Stringer
	// UID names the incarnation, and Slot the machine.
	UID() uint64
	Slot() int
	Alive() bool
	// Receive takes a packet. The bytes of one ToMember or ToReplica are lent during the call.
	Receive(Packet)
	// Extensions take the frames of the Data lanes.
	Extensions() Extensions
}

// Extensions are what a process has at its ends of Data lanes.
type Extensions interface {
	// Take takes a frame that has arrived, and Lost one that may not have got to its peer: it was
	// sent, or never left.
	Take(from uint64, ch transport.Channel, payload []byte)
	Lost(to uint64, ch transport.Channel, payload []byte, sent bool)
	// Link tells of a connection that has gone up or down.
	Link(transport.LinkEvent)
	// Dialled tells how an attempt to make the control connection to a peer has ended: it was refused,
	// or the peer has answered.
	Dialled(to uint64, refused bool)
}

// World is where the processes live.
type World interface {
	// Now is the true time, and At has something happen to a process, or to none, at a time.
	Now() int64
	At(t int64, owner Endpoint, run func())
	// Find finds an incarnation that may have ended, and Listener the process that listens at an
	// address; nil: there is none.
	Find(uid uint64) Endpoint
	Listener(addr string) Endpoint
	// Perished ends a frame that went down with its sender.
	Perished(frame []byte, how string)
}

// Settings are those of a network.
type Settings struct {
	Slots int // at most 64
	// Loss, Duplicate and Straggle are probabilities on the control lane. They fall to zero when the
	// network heals.
	Loss, Duplicate, Straggle float64
	DelayMin, DelayMean       time.Duration
	// LaneMax is how many bytes wait for a connection of the Data lane.
	LaneMax int
	// Describe says what a packet carries: the entity, the keys and the text of a record. Only watched
	// networks call it. nil: nothing is said.
	Describe func(*Packet) story.Record
}

// StraggleMost is how much later than others a packet that straggles may come.
const StraggleMost = 4 * time.Second

// Traffic counts what has become of packets, and the faults of the network.
type Traffic struct{ Sent, Delivered, Lost, Cuts, Flaps uint64 }

// Network carries packets between processes.
type Network struct {
	w        World
	rng      *rand.Rand
	trace    *trace.Trace
	settings Settings
	Traffic  Traffic
	// blocked[a] has bit b when nothing gets from slot a to slot b.
	blocked  [64]uint64
	flapped  [64]uint64 // the same, for what comes and goes by itself
	links    map[linkKey]*link
	Controls *Controls
	stripes  []*Stripe                           // of the Data lanes of extensions, in the order of their first use
	lose     func(from, to int, pk *Packet) bool // nil: none; see LoseBy
	hold     func(from, to int) int64            // nil: none; see HoldBy
	slow     []SlowLink
	landed   []*flight // that are used again
}

type linkKey struct {
	from, to uint64
	lane     Lane
}

// link is one connection of a FIFO lane.
type link struct {
	from, to Endpoint
	last     int64 // delivery time of the packet before, so that none overtakes it
	gen      uint64
	held     []*flight // stalled behind a cut
	since    int64     // when the stall began
}

// heldMax bounds what a sender keeps for a connection that stalls; past it the connection breaks.
const heldMax = 4096

// New is a network without faults of links. The world and the trace belong to the caller.
func New(s Settings, w World, rng *rand.Rand, t *trace.Trace) *Network {
	n := &Network{w: w, rng: rng, trace: t, settings: s, links: map[linkKey]*link{}}
	n.Controls = &Controls{n: n}
	return n
}

// LoseBy has lose decide which packets of the control lane get lost from slot to slot, by what they
// are: the second byte of a message tells its kind. nil ends that.
func (n *Network) LoseBy(lose func(from, to int, pk *Packet) bool) { n.lose = lose }

// HoldBy has hold say until when is held up what is sent on a FIFO lane from slot to slot. nil ends
// that.
func (n *Network) HoldBy(hold func(from, to int) int64) { n.hold = hold }

// Heal makes the network whole and prompt, and the control lane lossless.
func (n *Network) Heal() {
	n.Cut(nil)
	n.Flap(nil)
	n.Controls.heal()
	n.settings.Loss, n.settings.Duplicate, n.settings.Straggle = 0, 0, 0
	n.lose, n.hold, n.slow = nil, nil, nil
}

// Cut sets which slots cannot reach which; nil heals. It draws whether what is cut refuses connections.
func (n *Network) Cut(f func(from, to int) bool) {
	n.CutSilently(f)
	n.Controls.cut(f != nil)
}

// CutSilently does what Cut does, and what is cut does not answer.
func (n *Network) CutSilently(f func(from, to int) bool) {
	n.blocked = n.closed("CUT", n.blocked, f)
	if f != nil {
		n.Traffic.Cuts++
	}
}

// Flap does what cut does, beside what is cut.
func (n *Network) Flap(f func(from, to int) bool) {
	n.flapped = n.closed("FLAP", n.flapped, f)
	if f != nil {
		n.Traffic.Flaps++
	}
}

func (n *Network) matrix(f func(from, to int) bool) (m [64]uint64) {
	if f == nil {
		return m
	}
	for a := range n.settings.Slots {
		for b := range n.settings.Slots {
			if a != b && f(a, b) {
				m[a] |= 1 << b
			}
		}
	}
	return m
}

// open reports whether a packet gets from slot a to slot b.
func (n *Network) open(a, b int) bool { return (n.blocked[a]|n.flapped[a])>>b&1 == 0 }

// Connected reports whether both directions are open, which a FIFO connection needs for its
// acknowledgements.
func (n *Network) Connected(a, b int) bool { return n.open(a, b) && n.open(b, a) }

// Send carries a payload to a machine of an incarnation. What is meant for one that is gone is lost. The payload is
// lent during the call, except one of an extension, which belongs to the network from then on.
func (n *Network) Send(p Endpoint, to uint64, l Lane, ch Machine, on transport.Channel, payload []byte) {
	n.Traffic.Sent++
	n.trace.Fold(3, p.UID(), to)
	n.trace.FoldBytes(payload)
	q := n.w.Find(to)
	f := n.board(p, q, &Packet{From: p.UID(), lane: l, number: n.Traffic.Sent, To: ch, Channel: on, Payload: payload})
	n.tell(story.Sent, p, q, &f.Packet, "")
	switch {
	case q == nil || !q.Alive():
		f.lost("for its receiver has ended")
	case l == Control:
		n.datagram(f)
	default:
		n.stream(f)
	}
}

// SendAddr carries a payload to the process that listens at an address when it arrives.
func (n *Network) SendAddr(p Endpoint, addr string, ch Machine, payload []byte) {
	if q := n.w.Listener(addr); q != nil {
		n.Send(p, q.UID(), Control, ch, 0, payload)
		return
	}
	n.Traffic.Lost++
}

func (n *Network) datagram(f *flight) {
	p, q := f.from, f.to
	var twin *flight
	if p != q {
		if n.lose != nil && n.lose(p.Slot(), q.Slot(), &f.Packet) || random.Chance(n.rng, n.settings.Loss) {
			f.lost("by chance")
			return
		}
		if random.Chance(n.rng, n.settings.Duplicate) {
			twin = n.board(p, q, &f.Packet)
		}
	}
	for ; f != nil; f, twin = twin, nil {
		d := n.delayBy(n.rng)
		if random.Chance(n.rng, n.settings.Straggle) {
			d += random.Between(n.rng, 0, int64(StraggleMost))
		}
		d += n.lagging(p.Slot(), q.Slot(), &f.Packet)
		n.w.At(n.w.Now()+d, q, f.arrives)
	}
}

func (n *Network) stream(f *flight) {
	p, q := f.from, f.to
	k := linkKey{p.UID(), q.UID(), f.lane}
	l := n.links[k]
	if l == nil {
		l = &link{from: p, to: q}
		n.links[k] = l
	}
	if !n.Connected(p.Slot(), q.Slot()) && l.since < 0 { // broken and not yet repaired
		f.lost("at a broken connection")
		return
	}
	if l.since < 0 {
		l.since = 0
	}
	l.last = max(l.last+1, n.w.Now()+n.delayBy(n.rng)+n.lagging(p.Slot(), q.Slot(), &f.Packet))
	if n.hold != nil {
		l.last = max(l.last, n.hold(p.Slot(), q.Slot()))
	}
	f.link, f.gen = l, l.gen
	n.w.At(l.last, q, f.arrives)
}

// poll looks again at a stalled connection: the cut is over and all is delivered in order, or it
// lasted too long and all is lost.
func (n *Network) poll(l *link) {
	gen := l.gen
	n.w.At(n.w.Now()+random.Between(n.rng, int64(20*time.Millisecond), int64(200*time.Millisecond)), l.to, func() {
		if gen != l.gen {
			return
		}
		if n.Connected(l.from.Slot(), l.to.Slot()) {
			held := l.held
			l.held = nil
			l.last = max(l.last, n.w.Now())
			for _, f := range held {
				if l.to.Alive() {
					n.deliver(l.to, &f.Packet)
				}
				f.land()
			}
			return
		}
		if n.w.Now()-l.since > int64(5*time.Second) || len(l.held) > heldMax {
			n.reset(l)
			return
		}
		n.poll(l)
	})
}

// reset breaks a connection: everything on its way is lost.
func (n *Network) reset(l *link) {
	for _, f := range l.held {
		f.lost("for its connection broke")
	}
	l.gen++
	l.held = nil
	l.since = -1
}

// ResetBetween breaks the connections between two slots. The next control connections may be refused a
// few times, although the processes live.
func (n *Network) ResetBetween(a, b Endpoint) {
	for _, pair := range [][2]Endpoint{{a, b}, {b, a}} {
		for _, la := range []Lane{Data, Bulk} {
			if l := n.links[linkKey{pair[0].UID(), pair[1].UID(), la}]; l != nil {
				n.reset(l)
			}
		}
	}
	n.stripesOf(a, func(s *Stripe) {
		if s.from == b || s.to == b {
			s.breaks()
		}
	})
	n.Controls.breaks(func(c *control) bool {
		return c.from == a && c.to == b || c.from == b && c.to == a
	}, n.rng.IntN(3))
}

// Depart ends what others send to a process that has left in order.
func (n *Network) Depart(p Endpoint) {
	n.stripesOf(p, func(s *Stripe) {
		if s.to == p {
			s.depart()
		}
	})
}

// Stripes is the number of data connections between two nodes.
const Stripes = 2

func (n *Network) deliver(q Endpoint, pk *Packet) {
	n.Traffic.Delivered++
	if n.trace.Watching() {
		n.tell(story.Received, n.w.Find(pk.From), q, pk, "")
	}
	q.Receive(*pk)
	if pk.To != ToShard { // its bytes are lent there
		Overwrite(pk.Payload)
	}
}

// Overwrite takes back bytes that were lent.
func Overwrite(lent []byte) {
	for len(lent) > 0 {
		lent = lent[copy(lent, overwritten[:]):]
	}
}

// overwritten is what bytes become that were lent.
var overwritten = [256]byte(bytes.Repeat([]byte{0xa5}, 256))

// Forget drops the connections of a process that ended; what it had sent may still arrive.
func (n *Network) Forget(p Endpoint) {
	n.endStripes(p)
	n.Controls.end(p)
	for k, l := range n.links { // order: only deletes
		if l.to == p || l.from == p {
			delete(n.links, k)
		}
	}
}
