package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// frame is one message in the Data lane of an extension, from its acceptance until the sender knows
// that it was received.
type frame struct {
	ch       transport.Channel
	payload  []byte
	sent     bool // it has left the sender, perhaps on a connection that broke
	received bool
}

// stripe is one connection of the Data lane between two processes, in one direction. It keeps what
// package transport promises: the frames arrive in order and at most once, across connections too,
// and none is lost while both ends live and the receiver is a peer. What the sender does not know
// to be received when the peer is removed is given back.
//
//	          dial                    a stall that lasts
//	down ───────────────► up ◄──► stalled ───────────────► down
//	  └────────── remove ──┴──────────┴──────────► removed
type stripe struct {
	n        *network
	rng      *rand.Rand
	from, to *Process
	number   uint32

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

	room chan struct{} // closed when there may be room; nil: nothing waits for it
}

// A connection holds so many times as much in flight as it lets wait; transport has the same.
const flightShare = 4

// stallMax is how long a stalled connection lasts.
const stallMax = 5 * time.Second

// append takes a frame if there is room and check allows it.
func (s *stripe) append(ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	switch {
	case s.removed:
		return transport.ErrNoPeer
	case s.unsent >= s.n.w.opt.LaneMax:
		return transport.ErrQueueFull
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	f := &frame{ch: ch, payload: fill(nil)}
	s.n.w.counts.Sent++
	s.n.w.trace.Fold(8, s.from.uid, s.to.uid)
	s.n.w.trace.FoldBytes(f.payload)
	s.frames = append(s.frames, f)
	s.unsent += len(f.payload)
	s.pump()
	return nil
}

// roomAfter returns a channel that is closed when there may be room.
func (s *stripe) roomAfter() <-chan struct{} {
	if s.room == nil {
		s.room = make(chan struct{})
	}
	return s.room
}

func (s *stripe) makeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// pump sends what waits, as far as the window lets it, or connects.
func (s *stripe) pump() {
	if !s.up || s.stalled || s.removed {
		return
	}
	for _, f := range s.frames {
		if f.sent {
			continue
		}
		if s.flight >= flightShare*s.n.w.opt.LaneMax {
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
func (s *stripe) carry(f *frame) {
	n, a, b := s.n, s.from.slot.index, s.to.slot.index
	late := n.lagging(a, b, &packet{lane: data, ch: toShard})
	s.last = max(s.last+1, n.w.now+n.delayBy(s.rng)+late)
	if n.still != nil {
		s.last = max(s.last, n.still(a, b))
	}
	course := s.course
	n.w.at(s.last, s.to, func() {
		if course == s.course {
			s.arrive(f)
		}
	})
}

// arrive delivers a frame, or finds that the connection stalls.
func (s *stripe) arrive(f *frame) {
	n := s.n
	switch {
	case n.connected(s.from.slot.index, s.to.slot.index):
		f.received = true
		n.w.counts.Delivered++
		n.w.at(n.w.now+n.delayBy(s.rng), s.from, s.receipt)
		s.to.node.wires.take(s.from.uid, f.ch, f.payload)
	case !s.from.alive:
		s.abandon()
	default:
		s.stalled, s.since = true, n.w.now
		s.course++
		s.poll()
	}
}

// receipt tells the sender what was received.
func (s *stripe) receipt() {
	for len(s.frames) > 0 && s.frames[0].received {
		s.flight -= len(s.frames[0].payload)
		s.frames = s.frames[1:]
	}
	s.pump()
}

// poll looks again at a connection that is stalled: the cut is over, or it lasted too long.
func (s *stripe) poll() {
	course := s.course
	s.n.w.after(time.Duration(random.Between(s.rng, int64(20*time.Millisecond), int64(200*time.Millisecond))), nil,
		func() {
			switch {
			case course != s.course || s.removed:
			case !s.from.alive:
				s.abandon()
			case s.n.connected(s.from.slot.index, s.to.slot.index):
				s.stalled = false
				s.resend()
			case s.n.w.now-s.since > int64(stallMax):
				s.breaks()
			default:
				s.poll()
			}
		})
}

// resend brings again, in order, what was sent and not received.
func (s *stripe) resend() {
	s.course++
	for _, f := range s.frames {
		if f.sent && !f.received {
			s.carry(f)
		}
	}
	s.pump()
}

// breaks ends the connection. The next one begins with what the receiver has not got.
func (s *stripe) breaks() {
	if !s.up || s.removed {
		return
	}
	s.up, s.stalled = false, false
	s.course++
	s.tell(false)
	s.dial()
}

// dial connects as soon as that is possible.
func (s *stripe) dial() {
	course := s.course
	wait := s.n.delayBy(s.rng)
	if s.tries++; s.tries > 1 || s.generation > 0 {
		wait = random.Between(s.rng, int64(20*time.Millisecond), int64(time.Second))
	}
	s.n.w.at(s.n.w.now+wait, s.from, func() {
		switch {
		case course != s.course || s.removed:
		case s.to.alive && !s.departed && s.n.connected(s.from.slot.index, s.to.slot.index):
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
func (s *stripe) tell(up bool) {
	s.from.node.wires.link(transport.LinkEvent{
		Peer: transport.NodeID(s.to.uid), Lane: transport.Data, Stripe: s.number, Up: up, Generation: s.generation,
	})
}

// depart ends the connection because the receiver has left in order. The sender knows what was
// received, and that nothing else was.
func (s *stripe) depart() {
	if !s.from.alive || s.removed || !s.up || s.stalled || !s.n.connected(s.from.slot.index, s.to.slot.index) {
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

// remove ends the link to a node that is no peer any more, and gives back what may not have got
// there: when what is on its way has had a moment to arrive.
func (s *stripe) remove() {
	if s.removed {
		return
	}
	linger := int64(0)
	if s.up && !s.stalled {
		linger = random.Between(s.rng, 0, int64(time.Second))
	}
	s.removed = true
	s.makeRoom()
	s.n.w.at(s.n.w.now+linger, s.from, func() {
		s.course++
		s.giveBack()
	})
}

// giveBack gives the handler of the sender what is not known to be received.
func (s *stripe) giveBack() {
	frames := s.frames
	s.frames, s.unsent, s.flight = nil, 0, 0
	for _, f := range frames {
		s.from.node.wires.lost(s.to.uid, f.ch, f.payload, f.sent)
	}
}

// abandon forgets what a process that has ended was sending.
func (s *stripe) abandon() {
	frames := s.frames
	s.frames, s.removed = nil, true
	s.course++
	for _, f := range frames {
		if !f.received {
			s.n.w.lostFrame(f.payload, "on its way from "+s.from.String()+", which ended")
		}
	}
}

// orphan is called when the sender ends: what was sent may still arrive, if there is a receiver.
func (s *stripe) orphan() {
	if !s.to.alive || !s.up || s.stalled {
		s.abandon()
		return
	}
	kept := s.frames[:0]
	for _, f := range s.frames {
		if f.sent {
			kept = append(kept, f)
		} else {
			s.n.w.lostFrame(f.payload, "not sent by "+s.from.String()+", which ended")
		}
	}
	s.frames = kept
}
