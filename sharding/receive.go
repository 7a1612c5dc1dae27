package sharding

import (
	"fmt"
	"unicode/utf8"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Receive takes one frame. It never waits: the reader of the connection serves all shards of the
// peer.
func (r *core) Receive(from transport.NodeID, payload []byte) {
	rd := cbor.NewReader(frameOf(payload))
	kind, fields := openFrame(rd)
	switch {
	case rd.Err() != nil:
		r.malformed(uint64(from))
	case kind == frameTell || kind == frameAsk:
		var m message
		m.read(rd, kind, fields)
		if rd.Err() != nil || int(m.shard) >= len(r.routes.slots) {
			r.malformed(uint64(from))
			return
		}
		if m.origin == 0 {
			m.origin = uint64(from)
		}
		r.inbound(uint64(from), &m)
	case kind == frameReply:
		r.receiveReply(uint64(from), rd)
	case kind == frameControl:
		r.receiveControl(uint64(from), rd)
	case kind == framePost:
		r.receivePost(uint64(from), rd)
	case kind == frameInspect:
		r.receiveInspect(uint64(from), rd)
	case kind == frameFarewell:
		r.receiveFarewell(uint64(from))
	default:
		r.malformed(uint64(from))
	}
}

var _ transport.LossHandler = (*core)(nil)

// Lost takes a frame that was on its way to a node that is gone. One that was not sent waits for
// the shard's next home; whether another arrived is unknown.
func (r *core) Lost(to transport.NodeID, payload []byte, sent bool) {
	rd := cbor.NewReader(payload)
	switch kind, fields := openFrame(rd); {
	case rd.Err() != nil:
	case kind == frameTell || kind == frameAsk:
		var m message
		if m.read(rd, kind, fields); rd.Err() != nil {
			return
		}
		if m.origin == 0 {
			m.origin = r.self
		}
		if !sent && r.routes.takeBack(uint64(to), &m) {
			return
		}
		reason := DropNodeLost
		if !sent {
			reason = DropUnsent
		}
		r.drops.drop(reason, int(m.shard), string(m.id), nil)
		if m.origin == r.self {
			r.asks.answer(m.call, nil, statusError(statusOf(reason), "")) // unless it has ended already
		} else {
			r.out.replyError(envelope{call: m.call, origin: m.origin}, statusOf(reason), "")
		}
	case kind == frameReply:
		r.drops.drop(DropReplyUnsent, -1, "", nil)
	}
}

func (r *core) malformed(from uint64) {
	r.drops.drop(DropUndecodable, -1, "", nil)
	r.ctl.rejected(from, fmt.Errorf("%w: malformed frame", ErrEncoding))
}

func (r *core) receiveReply(from uint64, rd *cbor.Reader) {
	call, status := rd.Uint(), replyStatus(rd.UintMax(255))
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	if status == statusOK {
		r.out.answered(r.asks.answerBody(call, rd.Rest(), nil))
		return
	}
	text := string(rd.RawText(cbor.Any))
	if status == statusKnown {
		r.out.answered(r.asks.answerBody(call, nil, r.out.failureOf(text)))
		return
	}
	r.out.answered(r.asks.answerBody(call, nil, statusError(status, text)))
}

func (r *core) receiveControl(from uint64, rd *cbor.Reader) {
	body := rd.Bytes(cbor.Any)
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	msg, err := protocol.DecodeMessage(body)
	if err != nil {
		r.ctl.rejected(from, err)
		return
	}
	r.ctl.receive(from, msg, len(body))
}

// inbound delivers a message of another node, or passes it on, or lets it wait. m points into the
// frame, and does not escape on the fast path.
func (r *core) inbound(from uint64, m *message) {
	if len(m.id) == 0 || len(m.id) > idMax || !utf8.Valid(m.id) {
		r.out.discardRaw(DropInvalidID, m)
		return
	}
	for {
		s := r.routes.lanes[m.shard].Load()
		if s != nil && r.deliverInbound(s, from, m) {
			return
		}
		if r.hasEnded() {
			r.out.discardRaw(DropStopped, m)
			return
		}
		slow := *m
		if r.passOn(from, &slow, s) {
			return
		}
	}
}

// deliverInbound delivers to a shard of this node; false: it takes nothing any more.
func (r *core) deliverInbound(s *shard, from uint64, m *message) bool {
	env, err := r.decoder.decode(m)
	if err != nil {
		r.out.discardRaw(dropOf(err), m)
		return true
	}
	if administrative(env.msg) {
		return r.administerInbound(s, from, m, env)
	}
	v, _ := s.deliverBytes(m.id, env, bytesOf(m))
	reason, is := v.drop()
	if is {
		r.out.discard(reason, m.shard, string(m.id), env)
	}
	return is || v == accepted
}

// passOn is inbound for a shard that does not run here: s is what the lane had, which did not take
// the message. false: something has changed, look again.
func (r *core) passOn(from uint64, m *message, s *shard) bool {
	slot := &r.routes.slots[m.shard]
	rt := slot.Load()
	if rt != nil && rt.local != nil { // sealed or closed just now
		r.routes.divert(m.shard, rt)
		return false
	}
	if m.hops >= hopsMax {
		r.out.discardRaw(DropTooManyHops, m)
		return true
	}
	if rt != nil && rt.buffer == nil && rt.remote != from {
		m.hops++
		check := func() error {
			if slot.Load() != rt {
				return errRouteChanged
			}
			return nil
		}
		switch err := r.routes.forward(m.shard, rt, m, check); err {
		case nil:
			r.ctl.misrouted(from, m.shard)
			return true
		case errRouteChanged:
			if slot.Load() == rt {
				r.routes.divert(m.shard, rt)
			}
		case ErrBufferFull:
			r.routes.divert(m.shard, rt)
		default:
			r.out.discardRaw(dropOf(err), m)
			return true
		}
		return false
	}
	if rt != nil && rt.buffer == nil { // we would send it back where it comes from: one of the two is about to learn better
		r.routes.divert(m.shard, rt)
	}
	p := bufferedCopy(m)
	p.lane = s
	p.raw.hops++
	switch err := r.routes.hold(m.shard, p); err {
	case nil:
		r.ctl.misrouted(from, m.shard)
		return true
	case errRouteChanged:
		return false
	default:
		r.out.discardRaw(DropBufferFull, m)
		return true
	}
}

// decoder reads the user's messages.
type decoder struct {
	reg    *registry
	panics *panics
}

// decode makes an envelope of a message from another node.
func (d decoder) decode(m *message) (envelope, error) {
	mt := d.reg.withID(m.typ)
	if mt == nil {
		return envelope{}, fmt.Errorf("%w: wire id %08x", ErrUnregisteredMessage, m.typ)
	}
	msg, err := mt.decode(m.body)
	if err != nil {
		d.panics.noteCodec(err)
		return envelope{}, fmt.Errorf("%w: %s: %w", ErrEncoding, mt.name, err)
	}
	return envelope{msg: msg, call: m.call, origin: m.origin}, nil
}
