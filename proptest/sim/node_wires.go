package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/network"
)

// wires are the channels of a process's extensions over the simulated network.
type wires struct {
	p        *Process
	handlers map[transport.Channel]transport.Handler
	unserved *host.Unserved
	watchers *host.Watchers
	peers    map[uint64]bool
	out      []*network.Stripe // to peers, in the order of their first use
	drops    uint64            // frames that handlers took and gave up
}

var _ host.Channels = (*wires)(nil)

func newWires(p *Process, watchers *host.Watchers) *wires {
	return &wires{
		p: p, handlers: map[transport.Channel]transport.Handler{}, watchers: watchers, peers: map[uint64]bool{},
	}
}

// Claim implements host.Channels.
func (x *wires) Claim(ch transport.Channel) (promised []byte) { return x.unserved.Claim(ch) }

// Handle implements host.Channels.
func (x *wires) Handle(ch transport.Channel, h transport.Handler) {
	if h == nil {
		delete(x.handlers, ch)
		return
	}
	x.handlers[ch] = h
}

// Append implements host.Channels.
func (x *wires) Append(to transport.NodeID, lane transport.Lane, stripe uint32, ch transport.Channel,
	fill func([]byte) []byte, check func() error) error {
	x.p.rt.Own()
	if err := x.reaches(to); err != nil {
		return err
	}
	if lane == transport.Data {
		return x.stripe(uint64(to), stripe).Append(ch, fill, check)
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	x.p.w.net.Send(x.p, uint64(to), network.Control, network.ToShard, ch, fill(nil))
	return nil
}

// AppendWait implements host.Channels.
func (x *wires) AppendWait(ctx context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
	ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	for {
		err := x.Append(to, lane, stripe, ch, fill, check)
		if err != transport.ErrQueueFull || lane != transport.Data {
			return err
		}
		if x.p.rt.Await(x.stripe(uint64(to), stripe).RoomAfter(), ctx.Done(), nil) == 1 {
			return fmt.Errorf("%w: %w", transport.ErrQueueFull, ctx.Err())
		}
	}
}

// reaches says why there is no link to a node.
func (x *wires) reaches(to transport.NodeID) error {
	switch {
	case !x.p.alive:
		return transport.ErrClosed
	case uint64(to) == x.p.uid:
		return transport.ErrSelf
	case !x.peers[uint64(to)]:
		return transport.ErrNoPeer
	}
	return nil
}

// stripe finds a connection of the Data lane.
func (x *wires) stripe(to uint64, number uint32) *network.Stripe {
	number %= network.Stripes
	for _, s := range x.out {
		if s.Peer() == to && s.Number == number {
			return s
		}
	}
	w := x.p.w
	s := w.net.Connect(x.p, w.procs[to], number, w.rs.Stream("stripe", x.p.uid^to<<1^uint64(number)))
	x.out = append(x.out, s)
	return s
}

// CountDrop implements host.Channels.
func (x *wires) CountDrop(_ transport.Drop, frames int) { x.drops += uint64(frames) }

// OnLink implements host.Channels.
func (x *wires) OnLink(fn func(transport.LinkEvent)) (cancel func()) {
	cancel, _ = x.watchers.Add(host.Watcher{Link: fn})
	return cancel
}

// connect makes the members of a view peers.
func (x *wires) connect(v *view.View) {
	for _, m := range v.Members {
		if uint64(m.UID) != x.p.uid {
			x.peers[uint64(m.UID)] = true
			x.p.w.net.Controls.Dial(x.p, x.p.w.procs[uint64(m.UID)])
		}
	}
}

// disconnect ends the links to all that a view does not list.
func (x *wires) disconnect(v *view.View) {
	x.out = slices.DeleteFunc(slices.Clone(x.out), func(s *network.Stripe) bool {
		if v.Has(view.UID(s.Peer())) {
			return false
		}
		s.Remove()
		return true
	})
	for uid := range x.peers { // order: only deletes
		if !v.Has(view.UID(uid)) {
			delete(x.peers, uid)
			x.p.w.net.Controls.Hangup(x.p, uid)
		}
	}
}

// Take implements network.Extensions. It hands a frame that has arrived to its handler, which has
// the bytes during the call only.
func (x *wires) Take(from uint64, ch transport.Channel, payload []byte) {
	if x.p.mute(ch) {
		return
	}
	h := x.handlers[ch]
	if h == nil {
		if h = x.unserved.Handler(ch); h == nil {
			x.drops++
			return
		}
	}
	x.lend(payload, func(lent []byte) {
		if all, is := h.(transport.BatchHandler); is {
			all.ReceiveAll(transport.NodeID(from), [][]byte{lent})
			return
		}
		h.Receive(transport.NodeID(from), lent)
	})
}

// Lost implements network.Extensions. It gives a frame back to its handler.
func (x *wires) Lost(to uint64, ch transport.Channel, payload []byte, sent bool) {
	h, is := x.handlers[ch].(transport.LossHandler)
	if !is {
		x.p.w.lostFrame(payload, "given back to no handler")
		return
	}
	x.lend(payload, func(lent []byte) { h.Lost(transport.NodeID(to), lent, sent) })
}

// lend has fn called in the process with a copy of bytes that do not last.
func (x *wires) lend(payload []byte, fn func(lent []byte)) {
	w := x.p.w
	x.p.rt.Enter(func() {
		lent := slices.Clone(payload)
		before := w.frame
		w.frame = payload
		fn(lent)
		w.frame = before
		network.Overwrite(lent)
	})
}

// Link implements network.Extensions. It tells of a link that has gone up or down.
func (x *wires) Link(e transport.LinkEvent) { x.p.rt.Enter(func() { x.watchers.TellLink(e) }) }

// Dialled implements network.Extensions.
func (x *wires) Dialled(to uint64, refused bool) {
	x.p.mem.step(membership.Dialled{UID: view.UID(to), Refused: refused})
}

// flushed reports whether all that was appended to peers that can be reached was received.
func (x *wires) flushed() bool {
	return !slices.ContainsFunc(x.out, (*network.Stripe).Busy)
}
