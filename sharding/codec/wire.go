package codec

import (
	"math"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// The data plane's frames, one per message, on the channel of the entity type. A frame is a version
// byte and one CBOR array:
//
//	tell     [1, hops, shard, "id", type, body]
//	ask      [2, hops, shard, "id", type, call, origin, body]
//	reply    [3, call, status, body | text]
//	control  [4, bytes]                           a message of sharding/protocol: fences go down the data lane, the rest in control
//	post     [5, "box", bytes]                    of Context.Post
//	inspect  [6, call, what, "id"]                of Region.State and its like, answered with a reply
//	farewell [7]                                  of a node that leaves: what it was asked is answered or passed on
//
// What control sends in its lane, inspect and farewell are host.Questions: before the frame stands
// what a node answers that has not started the type.
//
// A tell and an ask that belong to a trace have one field more, which stands before the body: their
// header, as a byte string. It is written from format.Headers on.
//
// hops counts how often a region has passed the message on. type is the wire id of the message's
// type. call names the question at its origin; origin is 0 for "the sender of this frame", which
// the first region that passes it on replaces. status 0 is a reply, whose body is the CBOR of the
// reply type; the other statuses are errors with a text.
//
// All heads are written in shortest form; body is one data item, the last, so that it is found
// without being walked over. The encoding is by hand because it is the hot path.
const wireVersion = 1

// Kind says what a frame is.
type Kind uint8

// The frames, as they are drawn above.
const (
	Tell Kind = iota + 1
	Ask
	Reply
	Control
	Post
	Inspect
	Farewell
	kindEnd
)

// HopsMax is how often a message is passed on.
const HopsMax = 8

// CallMax is the number from which on calls mark what never travels.
const CallMax = ^uint64(0) - 2

// Message is a tell or an ask as it travels.
type Message struct {
	Kind   Kind
	Hops   uint8
	Shard  uint32
	ID     []byte // of the frame that was read
	Type   uint32
	Header []byte // of the trace that it belongs to; nil: of none
	Body   []byte
	Call   uint64
	Origin uint64
}

// AppendMessageHead appends all of a tell or an ask that stands before the body. origin and call
// are those of an ask.
func AppendMessageHead(dst []byte, m *Message, id string) []byte {
	fields := 6
	if m.Kind == Ask {
		fields = 8
	}
	if m.Header != nil {
		fields++
	}
	dst = cbor.AppendUint(cbor.AppendUint(beginFrame(dst, m.Kind, fields), m.Hops), m.Shard)
	dst = cbor.AppendText(dst, id)
	dst = cbor.AppendUint(dst, m.Type)
	if m.Kind == Ask {
		dst = cbor.AppendUint(cbor.AppendUint(dst, m.Call), m.Origin)
	}
	if m.Header != nil {
		dst = cbor.AppendBytes(dst, m.Header)
	}
	return dst
}

// beginFrame appends the version, and the array of a frame up to its kind.
func beginFrame(dst []byte, kind Kind, fields int) []byte {
	return cbor.AppendUint(cbor.AppendArray(append(dst, wireVersion), fields), kind)
}

// AppendReplyHead appends all of a reply that stands before its body or text.
func AppendReplyHead(dst []byte, call uint64, status ReplyStatus) []byte {
	return cbor.AppendUint(cbor.AppendUint(beginFrame(dst, Reply, 4), call), status)
}

// AppendErrorReply appends a reply that is an error.
func AppendErrorReply(dst []byte, call uint64, status ReplyStatus, text string) []byte {
	return cbor.AppendText(AppendReplyHead(dst, call, status), text)
}

// AppendFarewell appends a farewell.
func AppendFarewell(dst []byte) []byte { return beginFrame(dst, Farewell, 1) }

// AppendControl appends a frame with a message of a machine.
func AppendControl(dst []byte, msg []byte) []byte {
	return cbor.AppendBytes(beginFrame(dst, Control, 2), msg)
}

// OpenFrame reads the version, the array and its kind.
func OpenFrame(r *cbor.Reader) (kind Kind, fields int) {
	if v := r.Byte(); v != wireVersion {
		r.Fail("version %d", v)
		return 0, 0
	}
	fields = r.Array(cbor.Any)
	return Kind(r.UintMax(math.MaxUint8)), fields
}

// Read reads a tell or an ask behind its kind. The message points into the frame.
func (m *Message) Read(r *cbor.Reader, kind Kind, fields int) {
	m.Kind = kind
	m.Hops = uint8(r.UintMax(math.MaxUint8))
	m.Shard = r.Uint32()
	m.ID = r.RawText(cbor.Any)
	m.Type = r.Uint32()
	if kind == Ask {
		m.Call, m.Origin = r.Uint(), r.Uint()
		fields -= 2
	}
	if fields == 7 {
		m.Header = r.Bytes(tracing.HeaderMax)
		fields--
	}
	m.Body = r.Rest()
	if fields != 6 || len(m.Body) == 0 || m.Call >= CallMax { // such calls mark what never travels
		r.Fail("no message")
	}
}

// AppendPost appends what is posted to a box.
func AppendPost(dst []byte, box string, body []byte) []byte {
	return cbor.AppendBytes(cbor.AppendText(beginFrame(dst, Post, 3), box), body)
}
