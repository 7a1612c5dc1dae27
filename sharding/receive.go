package sharding

import (
	"fmt"
	"unicode/utf8"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Receive takes one frame. It never waits: the reader of the connection serves all shards of the
// peer.
func (r *core) Receive(from transport.NodeID, payload []byte) {
	rd := cbor.NewReader(frameOf(payload))
	kind, fields := codec.OpenFrame(rd)
	switch {
	case rd.Err() != nil:
		r.malformed(uint64(from))
	case kind == codec.Tell || kind == codec.Ask:
		var m codec.Message
		m.Read(rd, kind, fields)
		if rd.Err() != nil || int(m.Shard) >= len(r.routes.slots) {
			r.malformed(uint64(from))
			return
		}
		if m.Origin == 0 {
			m.Origin = uint64(from)
		}
		r.inbound(uint64(from), &m)
	case kind == codec.Reply:
		r.receiveReply(uint64(from), rd)
	case kind == codec.Control:
		r.receiveControl(uint64(from), rd)
	case kind == codec.Post:
		r.receivePost(uint64(from), rd)
	case kind == codec.Inspect:
		r.receiveInspect(uint64(from), rd)
	case kind == codec.Farewell:
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
	switch kind, fields := codec.OpenFrame(rd); {
	case rd.Err() != nil:
	case kind == codec.Tell || kind == codec.Ask:
		var m codec.Message
		if m.Read(rd, kind, fields); rd.Err() != nil {
			return
		}
		if m.Origin == 0 {
			m.Origin = r.self
		}
		if !sent && r.routes.takeBack(uint64(to), &m) {
			return
		}
		reason := DropNodeLost
		if !sent {
			reason = DropUnsent
		}
		r.drops.drop(reason, int(m.Shard), string(m.ID), nil)
		if m.Origin == r.self {
			r.asks.answer(m.Call, nil, statusError(statusOf(reason), "")) // unless it has ended already
		} else {
			r.out.replyError(envelope{call: m.Call, origin: m.Origin}, statusOf(reason), "")
		}
	case kind == codec.Reply:
		r.drops.drop(DropReplyUnsent, -1, "", nil)
	}
}

func (r *core) malformed(from uint64) {
	r.drops.drop(DropUndecodable, -1, "", nil)
	r.ctl.rejected(from, fmt.Errorf("%w: malformed frame", ErrEncoding))
}

func (r *core) receiveReply(from uint64, rd *cbor.Reader) {
	call, status := rd.Uint(), codec.Status(rd.UintMax(255))
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	if status == codec.StatusOK {
		r.out.answered(r.asks.answerBody(call, rd.Rest(), nil))
		return
	}
	text := string(rd.RawText(cbor.Any))
	if status == codec.StatusKnown {
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
func (r *core) inbound(from uint64, m *codec.Message) {
	if len(m.ID) == 0 || len(m.ID) > idMax || !utf8.Valid(m.ID) {
		r.out.discardRaw(DropInvalidID, m)
		return
	}
	for {
		s := r.routes.lanes[m.Shard].Load()
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
func (r *core) deliverInbound(s *shard, from uint64, m *codec.Message) bool {
	env, err := r.decoder.decode(m)
	if err != nil {
		r.out.discardRaw(dropOf(err), m)
		return true
	}
	if codec.Administrative(env.msg) {
		return r.administerInbound(s, from, m, env)
	}
	v, _ := s.deliverBytes(m.ID, env, bytesOf(m))
	reason, is := v.drop()
	if is {
		r.out.discard(reason, m.Shard, string(m.ID), env)
	}
	return is || v == accepted
}

// passOn is inbound for a shard that does not run here: s is what the lane had, which did not take
// the message. false: something has changed, look again.
func (r *core) passOn(from uint64, m *codec.Message, s *shard) bool {
	slot := &r.routes.slots[m.Shard]
	rt := slot.Load()
	if rt != nil && rt.local != nil { // sealed or closed just now
		r.routes.divert(m.Shard, rt)
		return false
	}
	if m.Hops >= codec.HopsMax {
		r.out.discardRaw(DropTooManyHops, m)
		return true
	}
	if rt != nil && rt.buffer == nil && rt.remote != from {
		m.Hops++
		check := func() error {
			if slot.Load() != rt {
				return errRouteChanged
			}
			return nil
		}
		switch err := r.routes.forward(m.Shard, rt, m, check); err {
		case nil:
			r.ctl.misrouted(from, m.Shard)
			return true
		case errRouteChanged:
			if slot.Load() == rt {
				r.routes.divert(m.Shard, rt)
			}
		case ErrBufferFull:
			r.routes.divert(m.Shard, rt)
		default:
			r.out.discardRaw(dropOf(err), m)
			return true
		}
		return false
	}
	if rt != nil && rt.buffer == nil { // we would send it back where it comes from: one of the two is about to learn better
		r.routes.divert(m.Shard, rt)
	}
	p := bufferedCopy(m)
	p.lane = s
	p.raw.Hops++
	switch err := r.routes.hold(m.Shard, p); err {
	case nil:
		r.ctl.misrouted(from, m.Shard)
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
	reg    *codec.Registry
	panics *panics
}

// decode makes an envelope of a message from another node.
func (d decoder) decode(m *codec.Message) (envelope, error) {
	mt := d.reg.WithID(m.Typ)
	if mt == nil {
		return envelope{}, fmt.Errorf("%w: wire id %08x", ErrUnregisteredMessage, m.Typ)
	}
	msg, err := mt.Decode(m.Body)
	if err != nil {
		d.panics.noteCodec(err)
		return envelope{}, fmt.Errorf("%w: %s: %w", ErrEncoding, mt.Name, err)
	}
	return envelope{msg: msg, call: m.Call, origin: m.Origin}, nil
}
