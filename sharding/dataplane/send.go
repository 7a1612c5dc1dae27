package dataplane

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Send routes a message of this node. Outside a handler it waits for room until ctx ends; inside,
// it fails instead. When ctx has ended already, nothing is sent, wherever the entity is.
func (r *Plane) Send(ctx context.Context, id string, env mailbox.Envelope) error {
	if _, err := r.Registry.Of(env.Message()); err != nil { // also for an entity on this node: it may move
		return err
	}
	number := r.Routes.ShardOf(id)
	if err := ctx.Err(); err != nil {
		return r.explain(number, err)
	}
	slot := &r.Routes.Slots[number]
	if rt := slot.Load(); rt != nil && rt.Local != nil { // the fast path: the id of an entity is valid
		if e := rt.Local.Peek(id); e != nil && !codec.Administrative(env.Msg) &&
			e.Accept(env, 0) == mailbox.Accepted {
			return nil
		}
	}
	if err := CheckID(id); err != nil {
		return err
	}
	return r.sendSlow(ctx, number, id, env)
}

// sendSlow is send for everything but a local entity with room.
func (r *Plane) sendSlow(ctx context.Context, number uint32, id string, env mailbox.Envelope) error {
	slot := &r.Routes.Slots[number]
	// a question's deadline holds for its way, too
	endless := env.Call != 0 && env.Origin == r.Self && !hasDeadline(ctx)
	waited := false // for room
	for {
		if err := ctx.Err(); err != nil {
			if waited {
				err = fmt.Errorf("%w: %w", failure.ErrBufferFull, err)
			}
			return r.explain(number, err)
		}
		if err := r.Users.Err(); err != nil {
			return err
		}
		rt := slot.Load()
		var room <-chan struct{}
		var err error
		switch {
		case rt != nil && rt.Local != nil:
			room, err = r.sendLocal(number, rt, id, env)
		case rt != nil && rt.Buffer == nil:
			room, err = r.sendRemote(ctx, !endless, number, rt, id, env)
		default:
			room, err = r.sendBuffer(ctx, number, id, env)
		}
		if err == routes.ErrChanged {
			continue
		}
		if !errors.Is(err, failure.ErrBufferFull) {
			return err
		}
		if entities.HandlerOf(ctx) != nil {
			return r.explain(number, err)
		}
		if endless {
			var cancel context.CancelFunc
			ctx, cancel = r.Scheduler.WithTimeout(ctx, r.Timeouts.Ask)
			defer cancel()
			endless = false
		}
		waited = true
		if room != nil && r.Scheduler.Await(room, ctx.Done(), r.Users.Closed()) == 2 {
			return r.Users.Err()
		}
	}
}

func hasDeadline(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok
}

// sendLocal delivers to a shard of this node. With ErrBufferFull comes what to wait for, nil: try
// again at once.
func (r *Plane) sendLocal(number uint32, rt *routes.Route, id string, env mailbox.Envelope) (<-chan struct{}, error) {
	v, e := rt.Local.Deliver(id, env, 0)
	switch v {
	case mailbox.Accepted:
		return nil, nil
	case mailbox.Full:
		return e.Room(), failure.ErrBufferFull
	default: // the shard was sealed or closed: until the next route is known, messages wait
		r.Routes.Divert(number, rt)
		return nil, routes.ErrChanged
	}
}

// sendBuffer lets the message wait for a home.
func (r *Plane) sendBuffer(ctx context.Context, number uint32, id string,
	env mailbox.Envelope) (<-chan struct{}, error) {
	_, header := env.Open()
	p := routes.BufferedMessage{ID: id, Env: env, Size: routes.BufferedOverhead + len(header)}
	if h := entities.HandlerOf(ctx); h != nil && env.Call != 0 {
		p.From = h.Shard()
	}
	room := r.Routes.Limit.RoomAfter()
	return room, r.Routes.Hold(number, p)
}

// sendRemote encodes the message and appends it to the lane of its shard. The route is looked at
// again under the lane's lock, so that nothing follows the fence that is appended after the route
// was changed. It waits for room only outside of handlers, and if told to; ErrBufferFull then says
// that ctx ended first.
func (r *Plane) sendRemote(ctx context.Context, wait bool, number uint32, rt *routes.Route, id string,
	env mailbox.Envelope) (<-chan struct{}, error) {
	o := r.Out.frame()
	defer o.release()
	err := o.encode(number, &r.Routes.Slots[number], rt, id, env)
	if err != nil {
		return nil, err
	}
	to := transport.NodeID(rt.Remote)
	if !wait || entities.HandlerOf(ctx) != nil {
		err = r.Out.Net.Append(to, transport.Data, number, r.Out.Channel, o.fill, o.check)
	} else {
		err = r.Out.Net.AppendWait(ctx, to, transport.Data, number, r.Out.Channel, o.fill, o.check)
	}
	if errors.Is(err, transport.ErrClosed) {
		return nil, r.Users.stoppedBy(err)
	}
	sent := appendError(err)
	if sent == routes.ErrChanged && err != routes.ErrChanged { // the messages of the shard wait for another home
		r.Routes.Divert(number, rt)
	}
	return nil, sent
}

// appendError translates the transport's errors. It returns routes.ErrChanged for a peer that the
// transport does not know.
func appendError(err error) error {
	switch {
	case err == nil || err == routes.ErrChanged:
		return err
	case errors.Is(err, transport.ErrQueueFull):
		return failure.ErrBufferFull
	case errors.Is(err, transport.ErrFrameTooLarge):
		return fmt.Errorf("%w: %w", failure.ErrMessageTooLarge, err)
	}
	return routes.ErrChanged
}

// carrier is the Carrier of the region's routes.
type carrier struct {
	*Outbox
	decoder
}

var _ routes.Carrier = carrier{}

// Carry implements Carrier.
func (b *Outbox) Carry(number uint32, slot *atomic.Pointer[routes.Route], rt *routes.Route, id string,
	env mailbox.Envelope) error {
	o := b.frame()
	defer o.release()
	if err := o.encode(number, slot, rt, id, env); err != nil {
		return err
	}
	return appendError(b.Net.Append(transport.NodeID(rt.Remote), transport.Data, number, b.Channel, o.fill, o.goes))
}

// Forward implements Carrier.
func (b *Outbox) Forward(number uint32, to uint64, m *codec.Message, check func() error) error {
	goes := func() error {
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		if m.Kind == codec.Ask && m.Origin == b.self {
			b.asks.Sent(m.Call, to)
		}
		return nil
	}
	if !b.SendsHeaders() {
		m.Header = nil
	}
	fill := func(dst []byte) []byte { return append(codec.AppendMessageHead(dst, m, string(m.ID)), m.Body...) }
	return appendError(b.Net.Append(transport.NodeID(to), transport.Data, number, b.Channel, fill, goes))
}

// outgoing is the pooled state of one Append: its functions are bound once.
type outgoing struct {
	box      *Outbox
	m        codec.Message
	id       string
	body     []byte
	slot     *atomic.Pointer[routes.Route]
	rt       *routes.Route
	fill     func([]byte) []byte // a message: head, then body
	fillBody func([]byte) []byte // body is all of the frame
	check    func() error        // the route is still the one that was taken; if so, goes
	goes     func() error        // notes where the question goes
}

func newOutgoing(b *Outbox) *outgoing {
	o := &outgoing{box: b}
	o.fill, o.fillBody, o.check, o.goes = o.appendTo, o.appendBody, o.current, o.note
	return o
}

// encode makes the frame of a message that goes along rt, which slot has now. A question of another node keeps its
// origin, which the answer goes to.
func (o *outgoing) encode(number uint32, slot *atomic.Pointer[routes.Route], rt *routes.Route, id string,
	env mailbox.Envelope) error {
	b := o.box
	msg, header := env.Open()
	mt, err := b.reg.Of(msg)
	if err != nil {
		return err
	}
	o.m = codec.Message{Kind: codec.Tell, Shard: number, Type: mt.ID}
	if header != nil && b.SendsHeaders() {
		o.m.Header = header
	}
	switch {
	case env.Call == 0:
	case env.Origin == b.self:
		o.m.Kind, o.m.Call = codec.Ask, env.Call
	default:
		o.m.Kind, o.m.Call, o.m.Origin = codec.Ask, env.Call, env.Origin
	}
	o.id, o.slot, o.rt = id, slot, rt
	if o.body, err = mt.Append(o.body[:0], msg); err != nil {
		b.panics.NoteCodec(err)
		return fmt.Errorf("%w: %s: %w", failure.ErrEncoding, mt.Name, err)
	}
	return nil
}

func (o *outgoing) appendBody(dst []byte) []byte { return append(dst, o.body...) }

func (o *outgoing) appendTo(dst []byte) []byte {
	return append(codec.AppendMessageHead(dst, &o.m, o.id), o.body...)
}

func (o *outgoing) current() error {
	if o.slot.Load() != o.rt {
		return routes.ErrChanged
	}
	return o.note()
}

// note notes which node a question of this one goes to. It runs at the moment of the append: the
// end of a node is the end of what was sent to it, and not of what waits for room.
func (o *outgoing) note() error {
	if o.m.Kind == codec.Ask && o.m.Origin == 0 {
		o.box.asks.Sent(o.m.Call, o.rt.Remote)
	}
	return nil
}

func (o *outgoing) release() {
	const keep = 64 << 10
	if cap(o.body) > keep {
		o.body = nil
	}
	o.id, o.slot, o.rt = "", nil, nil
	o.m = codec.Message{}
	o.box.outs.Put(o)
}
