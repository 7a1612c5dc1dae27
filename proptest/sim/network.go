package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// lane mirrors the transport's lanes: the control lane may lose, repeat and reorder, as a queue
// that drops when full and a connection that breaks do; the data and bulk lanes are FIFO between
// two incarnations until their connection breaks.
type lane uint8

const (
	control lane = iota
	data
	bulk
)

// channel says for which machine of the receiver a payload is.
type channel uint8

const (
	toMember channel = iota
	toReplica
	toShard
)

// packet is a payload on its way. Its bytes belong to the packet: every message travels encoded, so
// that no two machines ever share memory.
type packet struct {
	from    uint64
	addr    string // of the sender
	lane    lane
	ch      channel
	channel transport.Channel // of an extension, or of the replicators of a role
	payload []byte
}

// network carries packets between processes.
type network struct {
	w   *World
	rng *rand.Rand
	// blocked[a] has bit b when nothing gets from slot a to slot b.
	blocked [64]uint64
	flapped [64]uint64 // the same, for what comes and goes by itself
	links   map[linkKey]*link
	stripes []*stripe // of the Data lanes of extensions, in the order of their first use
	// lose, when set by a script, loses packets of the control lane by what they are: the second
	// byte of a message tells its kind.
	lose func(from, to int, pk *packet) bool
	// still, when set by a script, says until when what is sent on a FIFO lane now is held up.
	still func(from, to int) int64
	slow  []slowLink // see chaos.lag
	// loss, dup and straggle are probabilities on the control lane; they fall to zero when the
	// world heals.
	loss, dup, straggle float64
	lent                []byte // what a machine is given: as with the transport, the bytes are its only during the call
}

type linkKey struct {
	from, to uint64
	lane     lane
}

// link is one connection of a FIFO lane.
type link struct {
	from, to *Process
	last     int64 // delivery time of the packet before, so that none overtakes it
	gen      uint64
	held     []packet // stalled behind a cut
	since    int64    // when the stall began
}

// heldMax bounds what a sender keeps for a connection that stalls; past it the connection breaks.
const heldMax = 4096

func newNetwork(w *World) *network {
	return &network{
		w: w, rng: w.rs.Stream("network", 0), links: map[linkKey]*link{}, loss: w.opt.Loss, dup: w.opt.Duplicate,
		straggle: w.opt.Straggle,
	}
}

// cut sets which slots cannot reach which; nil heals.
func (n *network) cut(f func(from, to int) bool) {
	n.blocked = n.matrix(f)
	if f != nil {
		n.w.counts.Cuts++
	}
}

// flap does what cut does, beside what is cut.
func (n *network) flap(f func(from, to int) bool) {
	n.flapped = n.matrix(f)
	if f != nil {
		n.w.counts.Flaps++
	}
}

func (n *network) matrix(f func(from, to int) bool) (m [64]uint64) {
	if f == nil {
		return m
	}
	for a := range len(n.w.slots) {
		for b := range len(n.w.slots) {
			if a != b && f(a, b) {
				m[a] |= 1 << b
			}
		}
	}
	return m
}

// open reports whether a packet gets from slot a to slot b.
func (n *network) open(a, b int) bool { return (n.blocked[a]|n.flapped[a])>>b&1 == 0 }

// connected reports whether both directions are open, which a FIFO connection needs for its
// acknowledgements.
func (n *network) connected(a, b int) bool { return n.open(a, b) && n.open(b, a) }

// send carries a payload to an incarnation; what is meant for one that is gone is lost.
func (n *network) send(p *Process, to uint64, l lane, ch channel, on transport.Channel, payload []byte) {
	n.w.counts.Sent++
	n.w.trace.Fold(3, p.uid, to)
	n.w.trace.FoldBytes(payload)
	q := n.w.procs[to]
	pk := packet{from: p.uid, addr: p.slot.addr(), lane: l, ch: ch, channel: on, payload: payload}
	if q == nil || !q.alive {
		n.w.counts.Lost++
		return
	}
	if l == control {
		n.datagram(p, q, pk)
		return
	}
	n.stream(p, q, pk)
}

// sendOn carries a frame of an extension on the control lane.
func (n *network) sendOn(p *Process, to uint64, ch transport.Channel, payload []byte) {
	n.w.counts.Sent++
	n.w.trace.Fold(3, p.uid, to)
	n.w.trace.FoldBytes(payload)
	q := n.w.procs[to]
	if q == nil || !q.alive {
		n.w.counts.Lost++
		return
	}
	n.datagram(p, q, packet{
		from: p.uid, addr: p.slot.addr(), lane: control, ch: toShard, channel: ch, payload: payload,
	})
}

// sendAddr carries a payload to the process that listens at an address when it arrives.
func (n *network) sendAddr(p *Process, addr string, ch channel, payload []byte) {
	for _, s := range n.w.slots {
		if s.addr() == addr && s.proc != nil {
			n.send(p, s.proc.uid, control, ch, 0, payload)
			return
		}
	}
	n.w.counts.Lost++
}

func (n *network) delay() int64 {
	return int64(n.w.opt.DelayMin) + int64(n.rng.ExpFloat64()*float64(n.w.opt.DelayMean))
}

func (n *network) datagram(p, q *Process, pk packet) {
	copies := 1
	if p != q {
		if n.lose != nil && n.lose(p.slot.index, q.slot.index, &pk) || random.Chance(n.rng, n.loss) {
			n.w.counts.Lost++
			return
		}
		if random.Chance(n.rng, n.dup) {
			copies = 2
		}
	}
	for range copies {
		d := n.delay()
		if random.Chance(n.rng, n.straggle) {
			d += random.Between(n.rng, 0, int64(4*time.Second))
		}
		d += n.lagging(p.slot.index, q.slot.index, &pk)
		n.w.at(n.w.now+d, q, func() {
			if !n.open(p.slot.index, q.slot.index) {
				n.w.counts.Lost++
				return
			}
			n.deliver(q, pk)
		})
	}
}

func (n *network) stream(p, q *Process, pk packet) {
	k := linkKey{p.uid, q.uid, pk.lane}
	l := n.links[k]
	if l == nil {
		l = &link{from: p, to: q}
		n.links[k] = l
	}
	if !n.connected(p.slot.index, q.slot.index) && l.since < 0 { // broken and not yet repaired
		n.w.counts.Lost++
		return
	}
	if l.since < 0 {
		l.since = 0
	}
	l.last = max(l.last+1, n.w.now+n.delay()+n.lagging(p.slot.index, q.slot.index, &pk))
	if n.still != nil {
		l.last = max(l.last, n.still(p.slot.index, q.slot.index))
	}
	gen := l.gen
	n.w.at(l.last, q, func() { n.arrive(l, gen, pk) })
}

// arrive delivers a packet of a FIFO lane, or holds it while the connection stalls.
func (n *network) arrive(l *link, gen uint64, pk packet) {
	switch {
	case gen != l.gen:
		n.w.counts.Lost++
	case len(l.held) > 0:
		l.held = append(l.held, pk)
	case !n.connected(l.from.slot.index, l.to.slot.index):
		l.held = append(l.held, pk)
		l.since = n.w.now
		n.poll(l)
	default:
		n.deliver(l.to, pk)
	}
}

// poll looks again at a stalled connection: the cut is over and all is delivered in order, or it
// lasted too long and all is lost.
func (n *network) poll(l *link) {
	gen := l.gen
	n.w.at(n.w.now+random.Between(n.rng, int64(20*time.Millisecond), int64(200*time.Millisecond)), l.to, func() {
		if gen != l.gen {
			return
		}
		if n.connected(l.from.slot.index, l.to.slot.index) {
			held := l.held
			l.held = nil
			l.last = max(l.last, n.w.now)
			for _, pk := range held {
				if l.to.alive {
					n.deliver(l.to, pk)
				}
			}
			return
		}
		if n.w.now-l.since > int64(5*time.Second) || len(l.held) > heldMax {
			n.reset(l)
			return
		}
		n.poll(l)
	})
}

// reset breaks a connection: everything on its way is lost.
func (n *network) reset(l *link) {
	n.w.counts.Lost += uint64(len(l.held))
	l.gen++
	l.held = nil
	l.since = -1
}

// resetBetween breaks the FIFO connections between two slots.
func (n *network) resetBetween(a, b *Process) {
	for _, pair := range [][2]*Process{{a, b}, {b, a}} {
		for _, la := range []lane{data, bulk} {
			if l := n.links[linkKey{pair[0].uid, pair[1].uid, la}]; l != nil {
				n.reset(l)
			}
		}
	}
	n.stripesOf(a, func(s *stripe) {
		if s.from == b || s.to == b {
			s.breaks()
		}
	})
}

// depart ends what others send to a process that has left in order.
func (n *network) depart(p *Process) {
	n.stripesOf(p, func(s *stripe) {
		if s.to == p {
			s.depart()
		}
	})
}

// stripes is the number of data connections between two nodes.
const stripes = 2

func (n *network) deliver(q *Process, pk packet) {
	n.w.counts.Delivered++
	if pk.ch == toShard { // its bytes are lent there
		q.receive(pk)
		return
	}
	n.lent = append(n.lent[:0], pk.payload...)
	pk.payload = n.lent
	q.receive(pk)
	for i := range pk.payload {
		pk.payload[i] = 0xa5
	}
}

// forget drops the connections of a process that ended; what it had sent may still arrive.
func (n *network) forget(p *Process) {
	n.endStripes(p)
	for k, l := range n.links { // order: only deletes
		if l.to == p || l.from == p {
			delete(n.links, k)
		}
	}
}
