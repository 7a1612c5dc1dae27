package network

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// frame is one message in the Data lane of an extension, from its acceptance until the sender knows
// that it was received.
type frame struct {
	ch       transport.Channel
	number   uint64 // as of a Packet
	payload  []byte
	sent     bool // it has left the sender, perhaps on a connection that broke
	received bool
}

// Stripe is one connection of the Data lane between two processes, in one direction. It keeps what
// package transport promises: the frames arrive in order and at most once, across connections too,
// and none is lost while both ends live and the receiver is a peer. What the sender does not know
// to be received when the peer is removed is given back.
//
//	          dial                    a stall that lasts
//	down ───────────────► up ◄──► stalled ───────────────► down
//	  └────────── remove ──┴──────────┴──────────► removed
type Stripe struct {
	n        *Network
	rng      *rand.Rand
	from, to Endpoint
	Number   uint32

	frames []*frame // accepted, and not known to be received, in order
	unsent int      // bytes that wait to be sent
	flight int      // bytes that were sent

	up, stalled, removed bool
	departed             bool // the receiver has left in order: it takes nothing more
	generation           uint64
	tries                int    // to connect, since the connection before
	course               uint64 // events of an earlier course bring nothing
	last                 int64  // when the frame before arrives, so that none overtakes it
	since                int64  // when the stall began

	room     chan struct{} // closed when there may be room; nil: nothing waits for it
	receives func()        // receipt
}

// A connection holds so many times as much in flight as it lets wait; transport has the same.
const flightShare = 4

// stallMax is how long a stalled connection lasts.
const stallMax = 5 * time.Second

// Append takes a frame if there is room and check allows it.
func (s *Stripe) Append(ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	switch {
	case s.removed:
		return transport.ErrNoPeer
	case s.unsent >= s.n.settings.LaneMax:
		return transport.ErrQueueFull
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	s.n.Traffic.Sent++
	f := &frame{ch: ch, number: s.n.Traffic.Sent, payload: fill(nil)}
	s.n.trace.Fold(8, s.from.UID(), s.to.UID())
	s.n.trace.FoldBytes(f.payload)
	s.frames = append(s.frames, f)
	s.unsent += len(f.payload)
	s.tellOf(story.Sent, f, "")
	s.pump()
	return nil
}

// RoomAfter returns a channel that is closed when there may be room.
func (s *Stripe) RoomAfter() <-chan struct{} {
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return s.room
}

func (s *Stripe) makeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// pump sends what waits, as far as the window lets it, or connects.
func (s *Stripe) pump() {
	if !s.up || s.stalled || s.removed {
		return
	}
	for _, f := range s.frames {
		if f.sent {
			continue
		}
		if s.flight >= flightShare*s.n.settings.LaneMax {
			return
		}
		f.sent = true
		s.unsent -= len(f.payload)
		s.flight += len(f.payload)
		s.makeRoom()
		s.carry(f)
	}
}

// carry brings a frame to the other side.
func (s *Stripe) carry(f *frame) {
	n, a, b := s.n, s.from.Slot(), s.to.Slot()
	late := n.lagging(a, b, &Packet{lane: Data, To: ToShard})
	s.last = max(s.last+1, n.w.Now()+n.delayBy(s.rng)+late)
	if n.hold != nil {
		s.last = max(s.last, n.hold(a, b))
	}
	course := s.course
	n.w.At(s.last, s.to, func() {
		if course == s.course {
			s.arrive(f)
		}
	})
}

// arrive delivers a frame, or finds that the connection stalls.
func (s *Stripe) arrive(f *frame) {
	n := s.n
	switch {
	case n.Connected(s.from.Slot(), s.to.Slot()):
		f.received = true
		n.Traffic.Delivered++
		s.tellOf(story.Received, f, "")
		n.w.At(n.w.Now()+n.delayBy(s.rng), s.from, s.receives)
		s.to.Extensions().Take(s.from.UID(), f.ch, f.payload)
	case !s.from.Alive():
		s.abandon()
	default:
		s.stalled, s.since = true, n.w.Now()
		s.course++
		s.poll()
	}
}

// receipt tells the sender what was received.
func (s *Stripe) receipt() {
	for len(s.frames) > 0 && s.frames[0].received {
		s.flight -= len(s.frames[0].payload)
		s.frames = s.frames[1:]
	}
	s.pump()
}

// poll looks again at a connection that is stalled: the cut is over, or it lasted too long.
func (s *Stripe) poll() {
	course := s.course
	s.n.w.At(s.n.w.Now()+random.Between(s.rng, int64(20*time.Millisecond), int64(200*time.Millisecond)), nil,
		func() {
			switch {
			case course != s.course || s.removed:
			case !s.from.Alive():
				s.abandon()
			case s.n.Connected(s.from.Slot(), s.to.Slot()):
				s.stalled = false
				s.resend()
			case s.n.w.Now()-s.since > int64(stallMax):
				s.breaks()
			default:
				s.poll()
			}
		})
}

// resend brings again, in order, what was sent and not received.
func (s *Stripe) resend() {
	s.course++
	for _, f := range s.frames {
		if f.sent && !f.received {
			s.carry(f)
		}
	}
	s.pump()
}

// breaks ends the connection. The next one begins with what the receiver has not got.
func (s *Stripe) breaks() {
	if !s.up || s.removed {
		return
	}
	s.up, s.stalled = false, false
	s.course++
	s.tell(false)
	s.dial()
}

// dial connects as soon as that is possible.
func (s *Stripe) dial() {
	course := s.course
	wait := s.n.delayBy(s.rng)
	if s.tries++; s.tries > 1 || s.generation > 0 {
		wait = random.Between(s.rng, int64(20*time.Millisecond), int64(time.Second))
	}
	s.n.w.At(s.n.w.Now()+wait, s.from, func() {
		switch {
		case course != s.course || s.removed:
		case s.to.Alive() && !s.departed && s.n.Connected(s.from.Slot(), s.to.Slot()):
			s.up, s.tries = true, 0
			s.generation++
			s.tell(true)
			s.resend()
		default:
			s.dial()
		}
	})
}

// tell tells the sender of its link.
func (s *Stripe) tell(up bool) {
	s.from.Extensions().Link(transport.LinkEvent{
		Peer: transport.NodeID(s.to.UID()), Lane: transport.Data, Stripe: s.Number, Up: up, Generation: s.generation,
	})
}

// depart ends the connection because the receiver has left in order. The sender knows what was
// received, and that nothing else was.
func (s *Stripe) depart() {
	if !s.from.Alive() || s.removed || !s.up || s.stalled || !s.n.Connected(s.from.Slot(), s.to.Slot()) {
		return
	}
	s.departed, s.up = true, false
	s.course++
	s.receipt()
	for _, f := range s.frames {
		if f.sent {
			s.flight -= len(f.payload)
			s.unsent += len(f.payload)
			f.sent = false
		}
	}
}

// Remove ends the link to a node that is no peer any more, and gives back what may not have got
// there: when what is on its way has had a moment to arrive.
func (s *Stripe) Remove() {
	if s.removed {
		return
	}
	linger := int64(0)
	if s.up && !s.stalled {
		linger = random.Between(s.rng, 0, int64(time.Second))
	}
	s.removed = true
	s.makeRoom()
	s.n.w.At(s.n.w.Now()+linger, s.from, func() {
		s.course++
		s.giveBack()
	})
}

// giveBack gives the handler of the sender what is not known to be received.
func (s *Stripe) giveBack() {
	frames := s.frames
	s.frames, s.unsent, s.flight = nil, 0, 0
	for _, f := range frames {
		if !f.received {
			s.tellOf(story.Lost, f, "for its receiver is no peer any more")
		}
		s.from.Extensions().Lost(s.to.UID(), f.ch, f.payload, f.sent)
	}
}

// abandon forgets what a process that has ended was sending.
func (s *Stripe) abandon() {
	frames := s.frames
	s.frames, s.removed = nil, true
	s.course++
	for _, f := range frames {
		if !f.received {
			s.tellOf(story.Lost, f, "with its sender")
			s.n.w.Perished(f.payload, "on its way from "+s.from.String()+", which ended")
		}
	}
}

// orphan is called when the sender ends: what was sent may still arrive, if there is a receiver.
func (s *Stripe) orphan() {
	if !s.to.Alive() || !s.up || s.stalled {
		s.abandon()
		return
	}
	kept := s.frames[:0]
	for _, f := range s.frames {
		if f.sent {
			kept = append(kept, f)
		} else {
			s.tellOf(story.Lost, f, "with its sender")
			s.n.w.Perished(f.payload, "not sent by "+s.from.String()+", which ended")
		}
	}
	s.frames = kept
}

// Connect makes the connection with a number from one process to another, and dials.
func (n *Network) Connect(from, to Endpoint, number uint32, rng *rand.Rand) *Stripe {
	s := &Stripe{n: n, rng: rng, from: from, to: to, Number: number}
	s.receives = s.receipt
	n.stripes = append(n.stripes, s)
	s.dial()
	return s
}

// Peer is the uid of the receiver.
func (s *Stripe) Peer() uint64 { return s.to.UID() }

// Busy reports whether something is under way to a receiver that can be reached, or waits until the connection to it is
// made.
func (s *Stripe) Busy() bool {
	dials := !s.up && !s.removed && !s.departed && s.n.Connected(s.from.Slot(), s.to.Slot())
	return s.to.Alive() && (s.up && !s.stalled || dials) && len(s.frames) > 0
}

// stripesOf calls fn for the connections to and from a process, in a fixed order.
func (n *Network) stripesOf(p Endpoint, fn func(*Stripe)) {
	for _, s := range slices.Clone(n.stripes) {
		if s.from == p || s.to == p {
			fn(s)
		}
	}
}

// endStripes is what the end of a process means for its connections.
func (n *Network) endStripes(p Endpoint) {
	n.stripesOf(p, func(s *Stripe) {
		switch {
		case s.from == p:
			s.orphan()
		case !s.from.Alive():
			s.abandon()
		}
	})
	n.stripes = slices.DeleteFunc(n.stripes, func(s *Stripe) bool { return !s.from.Alive() && !s.to.Alive() })
}

// delayBy is delay by another generator.
func (n *Network) delayBy(rng interface{ ExpFloat64() float64 }) int64 {
	return int64(n.settings.DelayMin) + int64(rng.ExpFloat64()*float64(n.settings.DelayMean))
}
