package protocol

import (
	"errors"
	"fmt"
	"math"

	"github.com/coterie-go/coterie/crdt/head"
)

// What travels. A version byte, then one CBOR array; heads in shortest form:
//
//	packet    [1, origin, "producer", generation, channel, seq, base, round, flags, bytes]     producer → consumer
//	handled   [2, incarnation, "producer", generation, channel, seq]                           a handler that answers late → consumer
//	failed    [4, the same]
//	ack       [3, "entity", generation, channel, verdict, confirmed, expected, window, round]  consumer → producer
//
// flags: 1 = an answer is wanted when it is handled. Packets and acks stand in carried and posted
// bodies of package sharding.
const wireVersion = 1

const (
	wirePacket = iota + 1
	wireHandled
	wireAck
	wireFailed
)

// ErrDecode: the bytes are none that this protocol has written.
var ErrDecode = errors.New("delivery: malformed bytes")

// ProducerIDMax is the longest id of a producer in bytes.
const ProducerIDMax = 128

const entityIDMax = 512

// AppendPacket appends the encoded packet.
func AppendPacket(dst []byte, p *Packet) []byte {
	dst = append(dst, wireVersion, head.Array|10, wirePacket)
	dst = head.Append(dst, head.Uint, p.Origin)
	dst = appendText(dst, p.Producer)
	dst = appendSession(dst, p.Session)
	flags := uint64(0)
	if p.AckNow {
		flags = 1
	}
	for _, n := range [...]uint64{p.Seq, p.Base, uint64(p.Round), flags} {
		dst = head.Append(dst, head.Uint, n)
	}
	return append(head.Append(dst, head.Bytes, uint64(len(p.Body))), p.Body...)
}

// AppendHandled appends the encoded word of a handler that answers late.
func AppendHandled(dst []byte, h *Handled) []byte { return appendWord(dst, wireHandled, h) }

// AppendFailed appends the encoded word of a handler that fails late.
func AppendFailed(dst []byte, f *Failed) []byte { return appendWord(dst, wireFailed, (*Handled)(f)) }

func appendWord(dst []byte, kind byte, h *Handled) []byte {
	dst = append(dst, wireVersion, head.Array|6, kind)
	dst = head.Append(dst, head.Uint, h.Incarnation)
	dst = appendText(dst, h.Producer)
	dst = appendSession(dst, h.Session)
	return head.Append(dst, head.Uint, h.Seq)
}

// AppendAck appends the encoded ack.
func AppendAck(dst []byte, a *Ack) []byte {
	dst = append(dst, wireVersion, head.Array|9, wireAck)
	dst = appendText(dst, a.Entity)
	dst = appendSession(dst, a.Session)
	for _, n := range [...]uint64{uint64(a.Verdict), a.Confirmed, a.Expected, uint64(a.Window), uint64(a.Round)} {
		dst = head.Append(dst, head.Uint, n)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(head.Append(dst, head.Text, uint64(len(s))), s...)
}

func appendSession(dst []byte, s Session) []byte {
	return head.Append(head.Append(dst, head.Uint, s.Generation), head.Uint, s.Channel)
}

// DecodeForConsumer reads a Packet, a Handled or a Failed. The body of a packet points into b.
func DecodeForConsumer(b []byte) (ConsumerInput, error) {
	r := reader{b: b}
	switch fields, kind := r.open(); {
	case kind == wirePacket && fields == 10:
		p := Packet{Origin: r.uint(math.MaxUint64), Producer: r.text(ProducerIDMax), Session: r.session()}
		p.Seq, p.Base, p.Round = r.uint(math.MaxUint64), r.uint(math.MaxUint64), uint32(r.uint(math.MaxUint32))
		p.AckNow = r.uint(1) == 1
		p.Body = r.bytes()
		return p, r.end(p.Producer != "" && p.Base > 0 && p.Base <= p.Seq && p.Seq < math.MaxUint64)
	case (kind == wireHandled || kind == wireFailed) && fields == 6:
		h := Handled{Incarnation: r.uint(math.MaxUint64), Producer: r.text(ProducerIDMax), Session: r.session(), Seq: r.uint(math.MaxUint64)}
		if kind == wireFailed {
			return Failed(h), r.end(true)
		}
		return h, r.end(true)
	}
	return nil, fmt.Errorf("%w: %d bytes for a consumer", ErrDecode, len(b))
}

// DecodeAck reads an Ack.
func DecodeAck(b []byte) (Ack, error) {
	r := reader{b: b}
	fields, kind := r.open()
	if kind != wireAck || fields != 9 {
		return Ack{}, fmt.Errorf("%w: %d bytes for a producer", ErrDecode, len(b))
	}
	a := Ack{Entity: r.text(entityIDMax), Session: r.session(), Verdict: Verdict(r.uint(uint64(verdicts - 1)))}
	a.Confirmed, a.Expected = r.uint(math.MaxUint64), r.uint(math.MaxUint64)
	a.Window, a.Round = uint32(r.uint(math.MaxUint32)), uint32(r.uint(math.MaxUint32))
	return a, r.end(a.Entity != "" && a.Expected > a.Confirmed)
}

// reader reads heads; once anything was wrong it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) open() (fields, kind uint64) {
	if len(r.b) == 0 || r.b[0] != wireVersion {
		r.bad = true
		return 0, 0
	}
	r.b = r.b[1:]
	return r.head(head.Array), r.uint(math.MaxUint8)
}

func (r *reader) head(major byte) uint64 {
	n, size := head.Read(r.b, major)
	if r.bad || size == 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) uint(most uint64) uint64 {
	n := r.head(head.Uint)
	if n > most {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) session() Session {
	return Session{Generation: r.uint(math.MaxUint64), Channel: r.uint(math.MaxUint64)}
}

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) bytes() []byte { return r.take(r.head(head.Bytes)) }

func (r *reader) text(most int) string {
	n := r.head(head.Text)
	if n > uint64(most) {
		r.bad = true
	}
	return string(r.take(n))
}

// end says what is wrong: anything before, bytes that are left, or values that do not fit each
// other.
func (r *reader) end(fits bool) error {
	if r.bad || len(r.b) > 0 || !fits {
		return ErrDecode
	}
	return nil
}
