package thousand

import (
	"context"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// wires are the channels of a node's extensions. A message takes the same time to each node, so all
// lanes are in order, and none is ever full. What was sent to a node that has died is lost.
type wires struct {
	n        *node
	handlers map[transport.Channel]transport.Handler
	unserved *host.Unserved
	last     *view.View // whose members are peers, with those of the view before
	before   *view.View
}

var _ host.Channels = (*wires)(nil)

func newWires(n *node) *wires {
	x := &wires{n: n, handlers: map[transport.Channel]transport.Handler{}}
	x.unserved = host.NewUnserved(cluster{n}, x, slog.New(slog.DiscardHandler))
	return x
}

// connect makes the members of a view peers, beside those of the view before.
func (x *wires) connect(v *view.View) { x.last, x.before = v, x.last }

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
func (x *wires) Append(to transport.NodeID, lane transport.Lane, _ uint32, ch transport.Channel,
	fill func([]byte) []byte, check func() error) error {
	uid := view.UID(to)
	switch {
	case !x.n.alive:
		return transport.ErrClosed
	case uint64(to) == x.n.uid:
		return transport.ErrSelf
	case (x.last == nil || !x.last.Has(uid)) && (x.before == nil || !x.before.Has(uid)):
		return transport.ErrNoPeer
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	payload := fill(nil)
	x.n.w.meter.within(nil, playing, func() { x.send(uint64(to), lane, ch, payload) })
	return nil
}

func (x *wires) send(to uint64, lane transport.Lane, ch transport.Channel, payload []byte) {
	if most := transport.DefaultFrameMax; len(payload) > most && lane != transport.Data {
		x.n.w.fail("a frame of %d bytes, a connection takes %d", len(payload), most)
	}
	from := transport.NodeID(x.n.uid)
	x.n.w.carry(x.n, to, "sharding-"+lane.String(), len(payload), func(n *node) {
		n.wires.take(from, ch, payload)
	})
}

// AppendWait implements host.Channels. There always is room.
func (x *wires) AppendWait(_ context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
	ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	return x.Append(to, lane, stripe, ch, fill, check)
}

// CountDrop implements host.Channels.
func (x *wires) CountDrop(transport.Drop, int) {}

// OnLink implements host.Channels. Connections last as long as both ends.
func (x *wires) OnLink(func(transport.LinkEvent)) (cancel func()) { return func() {} }

// take hands a frame to its handler.
func (x *wires) take(from transport.NodeID, ch transport.Channel, payload []byte) {
	h := x.handlers[ch]
	if h == nil {
		if h = x.unserved.Handler(ch); h == nil {
			return
		}
	}
	x.n.enter(func() { h.Receive(from, payload) })
}
