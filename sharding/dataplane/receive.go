package dataplane

import (
	"bytes"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Receive takes one frame. It never waits: the reader of the connection serves all shards of the
// peer.
func (r *Plane) Receive(from transport.NodeID, payload []byte) {
	rd := cbor.NewReader(FrameOf(payload))
	kind, fields := codec.OpenFrame(rd)
	switch {
	case rd.Err() != nil:
		r.malformed(uint64(from))
	case kind == codec.Tell || kind == codec.Ask:
		var m codec.Message
		if readMessage(r, uint64(from), rd, kind, fields, &m) {
			r.inbound(uint64(from), &m)
		}
	case kind == codec.Reply:
		r.receiveReply(uint64(from), rd)
	case kind == codec.Control:
		r.receiveControl(uint64(from), rd)
	case kind == codec.Post:
		r.receivePost(uint64(from), rd)
	case kind == codec.Inspect:
		r.receiveInspect(uint64(from), rd)
	case kind == codec.Farewell:
		r.Farewells.note(uint64(from))
	default:
		r.malformed(uint64(from))
	}
}

// readMessage reads a tell or an ask behind its kind. False: it is none, which is counted.
func readMessage(r *Plane, from uint64, rd *cbor.Reader, kind codec.Kind, fields int, m *codec.Message) bool {
	m.Read(rd, kind, fields)
	if rd.Err() != nil || int(m.Shard) >= len(r.Routes.Slots) {
		r.malformed(from)
		return false
	}
	if m.Origin == 0 {
		m.Origin = from
	}
	return true
}

var _ transport.LossHandler = (*Plane)(nil)

// Lost takes a frame that was on its way to a node that is gone. One that was not sent waits for
// the shard's next home; whether another arrived is unknown.
func (r *Plane) Lost(to transport.NodeID, payload []byte, sent bool) {
	rd := cbor.NewReader(payload)
	switch kind, fields := codec.OpenFrame(rd); {
	case rd.Err() != nil:
	case kind == codec.Tell || kind == codec.Ask:
		var m codec.Message
		if m.Read(rd, kind, fields); rd.Err() != nil {
			return
		}
		if m.Origin == 0 {
			m.Origin = r.Self
		}
		if !sent && r.Routes.TakeBack(uint64(to), &m) {
			return
		}
		reason := failure.DropNodeLost
		if !sent {
			reason = failure.DropUnsent
		}
		r.Drops.Drop(reason, protocol.ShardID(m.Shard), string(m.ID), nil)
		if m.Origin == r.Self {
			r.Asks.Answer(m.Call, nil, failure.OfStatus(failure.StatusOf(reason), "")) // unless it has ended already
		} else {
			r.Out.ReplyError(mailbox.Envelope{Call: m.Call, Origin: m.Origin}, failure.StatusOf(reason), "")
		}
	case kind == codec.Reply:
		r.Drops.Drop(failure.DropReplyUnsent, failure.NoShard, "", nil)
	}
}

func (r *Plane) malformed(from uint64) {
	r.Drops.Drop(failure.DropUndecodable, failure.NoShard, "", nil)
	r.Ctl.Rejected(from, fmt.Errorf("%w: malformed frame", failure.ErrEncoding))
}

func (r *Plane) receiveReply(from uint64, rd *cbor.Reader) {
	call, status := rd.Uint(), codec.ReplyStatus(rd.UintMax(255))
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	if status == codec.StatusOK {
		r.Out.answered(r.Asks.AnswerBody(call, rd.Rest(), nil))
		return
	}
	text := string(rd.RawText(cbor.Any))
	if status == codec.StatusKnown {
		r.Out.answered(r.Asks.AnswerBody(call, nil, r.Out.known.Read(text)))
		return
	}
	r.Out.answered(r.Asks.AnswerBody(call, nil, failure.OfStatus(status, text)))
}

func (r *Plane) receiveControl(from uint64, rd *cbor.Reader) {
	body := rd.Bytes(cbor.Any)
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	msg, err := protocol.DecodeMessage(body)
	if err != nil {
		r.Ctl.Rejected(from, err)
		return
	}
	r.Ctl.Receive(from, msg, len(body))
}

// inbound delivers a message of another node, or passes it on, or lets it wait. m points into the
// frame, and does not escape on the fast path.
func (r *Plane) inbound(from uint64, m *codec.Message) {
	if !isID(m.ID) {
		r.Out.discardRaw(failure.DropInvalidID, m)
		return
	}
	for {
		s := r.Routes.Lanes[m.Shard].Load()
		if s != nil && deliverInbound(r, s, from, m) {
			return
		}
		if r.HasEnded() {
			r.Out.discardRaw(failure.DropStopped, m)
			return
		}
		slow := *m
		if r.PassOn(from, &slow, s) {
			return
		}
	}
}

// deliverInbound delivers to a shard of this node; false: it takes nothing any more.
func deliverInbound(r *Plane, s *entities.Shard, from uint64, m *codec.Message) bool {
	env, err := r.incoming.Decode(m)
	if err != nil {
		r.Out.discardRaw(failure.DropOf(err), m)
		return true
	}
	if codec.Administrative(env.Msg) {
		return r.administerInbound(s, from, m, env)
	}
	v, _ := s.DeliverBytes(m.ID, env, routes.BytesOf(m))
	reason, is := v.Drop()
	if is {
		r.Out.Discard(reason, m.Shard, string(m.ID), env)
	}
	return is || v == mailbox.Accepted
}

// PassOn is inbound for a shard that does not run here: s is what the lane had, which did not take
// the message. false: something has changed, look again.
func (r *Plane) PassOn(from uint64, m *codec.Message, s *entities.Shard) bool {
	slot := &r.Routes.Slots[m.Shard]
	rt := slot.Load()
	if rt != nil && rt.Local != nil { // sealed or closed just now
		r.Routes.Divert(m.Shard, rt)
		return false
	}
	if m.Hops >= codec.HopsMax {
		r.Out.discardRaw(failure.DropTooManyHops, m)
		return true
	}
	if rt != nil && rt.Buffer == nil && rt.Remote != from {
		m.Hops++
		check := func() error {
			if slot.Load() != rt {
				return routes.ErrChanged
			}
			return nil
		}
		header := m.Header // if not all members read it, it does not go on
		switch err := r.Out.Forward(m.Shard, rt.Remote, m, check); err {
		case nil:
			notePassedOn(r.Entities.Spans, m, header)
			r.Ctl.Misrouted(from, m.Shard)
			return true
		case routes.ErrChanged:
			if slot.Load() == rt {
				r.Routes.Divert(m.Shard, rt)
			}
		case failure.ErrBufferFull:
			r.Routes.Divert(m.Shard, rt)
		default:
			r.Out.discardRaw(failure.DropOf(err), m)
			return true
		}
		return false
	}
	// we would send it back where it comes from: one of the two is about to learn better
	if rt != nil && rt.Buffer == nil {
		r.Routes.Divert(m.Shard, rt)
	}
	p := routes.CopyOf(m, s)
	p.Raw.Hops++
	switch err := r.Routes.Hold(m.Shard, p); err {
	case nil:
		r.Ctl.Misrouted(from, m.Shard)
		return true
	case routes.ErrChanged:
		return false
	default:
		r.Out.discardRaw(failure.DropBufferFull, m)
		return true
	}
}

// decoder reads the user's messages.
type decoder struct {
	reg    *codec.Registry
	panics *failure.Panics
	traced bool // messages keep their headers
}

// Decode implements Carrier: it makes an envelope of a message from another node.
func (d decoder) Decode(m *codec.Message) (mailbox.Envelope, error) { return d.decodeBy(nil, m) }

// decodeBy is Decode with the decoder of the messages before; nil: there were none.
func (d decoder) decodeBy(k *codec.Decoder, m *codec.Message) (mailbox.Envelope, error) {
	mt := k.TypeIn(d.reg, m.Type)
	if mt == nil {
		return mailbox.Envelope{}, fmt.Errorf("%w: wire id %08x", failure.ErrUnregisteredMessage, m.Type)
	}
	msg, err := k.Decode(mt, m.Body)
	if err != nil {
		d.panics.NoteCodec(err)
		return mailbox.Envelope{}, fmt.Errorf("%w: %s: %w", failure.ErrEncoding, mt.Name, err)
	}
	if d.traced && len(m.Header) > 0 && !codec.Administrative(msg) {
		msg = &mailbox.Traced{Msg: msg, Header: bytes.Clone(m.Header)}
	}
	return mailbox.Envelope{Msg: msg, Call: m.Call, Origin: m.Origin}, nil
}
