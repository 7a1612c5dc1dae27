package sharding

import (
	"math"

	"github.com/coterie-go/coterie/crdt/cbor"
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
// hops counts how often a region has passed the message on. type is the wire id of the message's
// type. call names the question at its origin; origin is 0 for "the sender of this frame", which
// the first region that passes it on replaces. status 0 is a reply, whose body is the CBOR of the
// reply type; the other statuses are errors with a text.
//
// All heads are written in shortest form; body is one data item, the last, so that it is found
// without being walked over. The encoding is by hand because it is the hot path.
const wireVersion = 1

// frameKind says what a frame is.
type frameKind uint8

const (
	frameTell frameKind = iota + 1
	frameAsk
	frameReply
	frameControl
	framePost
	frameInspect
	frameFarewell
)

// hopsMax is how often a message is passed on.
const hopsMax = 8

// callMax is the number from which on calls mark what never travels.
const callMax = ^uint64(0) - 1

// message is a tell or an ask as it travels.
type message struct {
	kind   frameKind
	hops   uint8
	shard  uint32
	id     []byte // of the frame that was read
	typ    uint32
	body   []byte
	call   uint64
	origin uint64
}

// appendMessageHead appends all of a tell or an ask that stands before the body. origin and call
// are those of an ask.
func appendMessageHead(dst []byte, m *message, id string) []byte {
	fields := 6
	if m.kind == frameAsk {
		fields = 8
	}
	dst = cbor.AppendUint(cbor.AppendUint(beginFrame(dst, m.kind, fields), m.hops), m.shard)
	dst = cbor.AppendText(dst, id)
	dst = cbor.AppendUint(dst, m.typ)
	if m.kind == frameAsk {
		dst = cbor.AppendUint(cbor.AppendUint(dst, m.call), m.origin)
	}
	return dst
}

// beginFrame appends the version, and the array of a frame up to its kind.
func beginFrame(dst []byte, kind frameKind, fields int) []byte {
	return cbor.AppendUint(cbor.AppendArray(append(dst, wireVersion), fields), kind)
}

// appendReplyHead appends all of a reply that stands before its body or text.
func appendReplyHead(dst []byte, call uint64, status replyStatus) []byte {
	return cbor.AppendUint(cbor.AppendUint(beginFrame(dst, frameReply, 4), call), status)
}

// appendErrorReply appends a reply that is an error.
func appendErrorReply(dst []byte, call uint64, status replyStatus, text string) []byte {
	return cbor.AppendText(appendReplyHead(dst, call, status), text)
}

// appendFarewell appends a farewell.
func appendFarewell(dst []byte) []byte { return beginFrame(dst, frameFarewell, 1) }

// appendControl appends a frame with a message of a machine.
func appendControl(dst []byte, msg []byte) []byte {
	return cbor.AppendBytes(beginFrame(dst, frameControl, 2), msg)
}

// openFrame reads the version, the array and its kind.
func openFrame(r *cbor.Reader) (kind frameKind, fields int) {
	if v := r.Byte(); v != wireVersion {
		r.Fail("version %d", v)
		return 0, 0
	}
	fields = r.Array(cbor.Any)
	return frameKind(r.UintMax(math.MaxUint8)), fields
}

// read reads a tell or an ask behind its kind. The message points into the frame.
func (m *message) read(r *cbor.Reader, kind frameKind, fields int) {
	m.kind = kind
	m.hops = uint8(r.UintMax(math.MaxUint8))
	m.shard = r.Uint32()
	m.id = r.RawText(cbor.Any)
	m.typ = r.Uint32()
	if kind == frameAsk {
		m.call, m.origin = r.Uint(), r.Uint()
		fields -= 2
	}
	m.body = r.Rest()
	if fields != 6 || len(m.body) == 0 || m.call >= callMax { // such calls mark what never travels
		r.Fail("no message")
	}
}

// appendPost appends what is posted to a box.
func appendPost(dst []byte, box string, body []byte) []byte {
	return cbor.AppendBytes(cbor.AppendText(beginFrame(dst, framePost, 3), box), body)
}
