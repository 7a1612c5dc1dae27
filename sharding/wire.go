package sharding

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/coterie-go/coterie/crdt/head"
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
// hops counts how often a region has passed the message on. type is the wire id of the message's
// type. call names the question at its origin; origin is 0 for "the sender of this frame", which
// the first region that passes it on replaces. status 0 is a reply, whose body is the CBOR of the
// reply type; the other statuses are errors with a text.
//
// All heads are written in shortest form; body is one data item, the last, so that it is found
// without being walked over. The encoding is by hand because it is the hot path.
const wireVersion = 1

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

const hopsMax = 8

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

// bufferedMessage copies the message out of its frame.
func (m *message) buffered() bufferedMessage {
	raw := *m
	raw.body = append([]byte(nil), m.body...)
	raw.id = append([]byte(nil), m.id...)
	return bufferedMessage{id: string(m.id), raw: &raw, size: bufferedOverhead + len(m.body)}
}

// appendMessageHead appends all of a tell or an ask that stands before the body. origin and call
// are those of an ask.
func appendMessageHead(dst []byte, m *message, id string) []byte {
	fields := byte(6)
	if m.kind == frameAsk {
		fields = 8
	}
	dst = append(dst, wireVersion, head.Array|fields, byte(m.kind), m.hops)
	dst = head.Append(dst, head.Uint, uint64(m.shard))
	dst = head.Append(dst, head.Text, uint64(len(id)))
	dst = append(dst, id...)
	dst = head.Append(dst, head.Uint, uint64(m.typ))
	if m.kind == frameAsk {
		dst = head.Append(head.Append(dst, head.Uint, m.call), head.Uint, m.origin)
	}
	return dst
}

func appendReplyHead(dst []byte, call uint64, status replyStatus) []byte {
	dst = append(dst, wireVersion, head.Array|4, byte(frameReply))
	dst = head.Append(dst, head.Uint, call)
	return head.Append(dst, head.Uint, uint64(status))
}

func appendErrorReply(dst []byte, call uint64, status replyStatus, text string) []byte {
	dst = appendReplyHead(dst, call, status)
	dst = head.Append(dst, head.Text, uint64(len(text)))
	return append(dst, text...)
}

func appendFarewell(dst []byte) []byte {
	return append(dst, wireVersion, head.Array|1, byte(frameFarewell))
}

func appendControl(dst []byte, msg []byte) []byte {
	dst = append(dst, wireVersion, head.Array|2, byte(frameControl))
	dst = head.Append(dst, head.Bytes, uint64(len(msg)))
	return append(dst, msg...)
}

// reader walks over a frame. bad stays set once anything was wrong, so that callers check it once.
// It counts instead of cutting b: to store a pointer costs a write barrier while garbage is
// collected, and one per head is much.
type reader struct {
	b   []byte
	at  int
	bad bool
}

// rest is what was not read yet.
func (r *reader) rest() []byte { return r.b[r.at:] }

// skip reads exactly these bytes.
func (r *reader) skip(want []byte) bool {
	if !bytes.HasPrefix(r.rest(), want) {
		return false
	}
	r.at += len(want)
	return true
}

// next reads one byte; 0 at the end.
func (r *reader) next() byte {
	if r.at >= len(r.b) {
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

// isMajor reports whether the next head is of that major type.
func (r *reader) isMajor(major byte) bool { return r.at < len(r.b) && r.b[r.at]&0xe0 == major }

// head reads one head of the wanted major type.
func (r *reader) head(major byte) uint64 {
	if r.at < len(r.b) {
		if c := r.b[r.at] - major; c < 24 {
			r.at++
			return uint64(c)
		}
	}
	return r.longHead(major)
}

func (r *reader) longHead(major byte) uint64 {
	b := r.rest()
	if !r.isMajor(major) || b[0]&0x1f > 27 {
		r.bad = true
		return 0
	}
	width := 1 << (b[0]&0x1f - 24)
	if len(b) < 1+width {
		r.bad = true
		return 0
	}
	var n uint64
	switch b := b[1:]; width {
	case 1:
		n = uint64(b[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(b))
	case 4:
		n = uint64(binary.BigEndian.Uint32(b))
	default:
		n = binary.BigEndian.Uint64(b)
	}
	r.at += 1 + width
	return n
}

// small reads a number that must not exceed limit.
func (r *reader) small(limit uint64) uint64 {
	n := r.head(head.Uint)
	if n > limit {
		r.bad = true
		return 0
	}
	return n
}

// str reads a string of the wanted major type without copying it.
func (r *reader) str(major byte) []byte {
	n := r.head(major)
	if r.bad || n > uint64(len(r.b)-r.at) {
		r.bad = true
		return nil
	}
	start := r.at
	r.at += int(n)
	return r.b[start:r.at:r.at]
}

// open reads the version, the array and its kind.
func (r *reader) open() (kind frameKind, fields uint64) {
	if r.next() != wireVersion {
		r.bad = true
		return 0, 0
	}
	fields = r.head(head.Array)
	return frameKind(r.small(math.MaxUint8)), fields
}

// message reads a tell or an ask behind its kind.
func (r *reader) message(m *message, kind frameKind, fields uint64) {
	m.kind = kind
	m.hops = uint8(r.small(math.MaxUint8))
	m.shard = uint32(r.small(math.MaxUint32))
	m.id = r.str(head.Text)
	m.typ = uint32(r.small(math.MaxUint32))
	if kind == frameAsk {
		m.call, m.origin = r.head(head.Uint), r.head(head.Uint)
		fields -= 2
		r.bad = r.bad || m.call >= timerCall // they mark what never travels
	}
	m.body = r.rest()
	r.bad = r.bad || fields != 6 || len(m.body) == 0
}
