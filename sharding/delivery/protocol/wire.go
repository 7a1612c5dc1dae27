package protocol

import (
	"errors"
	"fmt"
	"math"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// What travels. A version byte, then one CBOR array; heads in shortest form:
//
//	packet    [1, origin, "producer", generation, channel, seq, base, round, flags, bytes]     producer → consumer
//	handled   [2, incarnation, "producer", generation, channel, seq]                           a handler that answers late → consumer
//	failed    [4, the same]
//	ack       [3, "entity", generation, channel, verdict, confirmed, expected, window, round]  consumer → producer
//
// flags: 1 = an answer is wanted when it is handled. Packets travel as Region.SendRaw of package
// sharding, acks as Context.Post.
const wireVersion = 1

const (
	wirePacket = iota + 1
	wireHandled
	wireAck
	wireFailed
	wireEnd
)

// ErrDecode: the bytes are none that this protocol has written.
var ErrDecode = errors.New("delivery: malformed bytes")

// ProducerIDMax is the longest id of a producer in bytes.
const ProducerIDMax = 128

const entityIDMax = 512

// AppendPacket appends the encoded packet.
func AppendPacket(dst []byte, p *Packet) []byte {
	dst = cbor.AppendUint(begin(dst, wirePacket, 10), p.Origin)
	dst = appendSession(cbor.AppendText(dst, p.Producer), p.Session)
	flags := uint64(0)
	if p.AckNow {
		flags = 1
	}
	return cbor.AppendBytes(cbor.AppendUints(dst, p.Seq, p.Base, uint64(p.Round), flags), p.Body)
}

// AppendHandled appends the encoded word of a handler that answers late.
func AppendHandled(dst []byte, h *Handled) []byte { return appendWord(dst, wireHandled, h) }

// AppendFailed appends the encoded word of a handler that fails late.
func AppendFailed(dst []byte, f *Failed) []byte { return appendWord(dst, wireFailed, (*Handled)(f)) }

func appendWord(dst []byte, kind byte, h *Handled) []byte {
	dst = cbor.AppendUint(begin(dst, kind, 6), h.Incarnation)
	dst = appendSession(cbor.AppendText(dst, h.Producer), h.Session)
	return cbor.AppendUint(dst, h.Seq)
}

// AppendAck appends the encoded ack.
func AppendAck(dst []byte, a *Ack) []byte {
	dst = appendSession(cbor.AppendText(begin(dst, wireAck, 9), a.Entity), a.Session)
	return cbor.AppendUints(dst, uint64(a.Verdict), a.Confirmed, a.Expected, uint64(a.Window), uint64(a.Round))
}

// begin appends the version, and the array of so many fields up to its kind.
func begin(dst []byte, kind byte, fields int) []byte {
	return cbor.AppendUint(cbor.AppendArray(append(dst, wireVersion), fields), kind)
}

func appendSession(dst []byte, s Session) []byte {
	return cbor.AppendUints(dst, s.Generation, s.Channel)
}

// DecodeForConsumer reads a Packet, a Handled or a Failed. The body of a packet points into b.
func DecodeForConsumer(b []byte) (ConsumerInput, error) {
	r := cbor.NewReader(b)
	switch fields, kind := open(r); {
	case kind == wirePacket && fields == 10:
		p := Packet{Origin: r.Uint(), Producer: readID(r, ProducerIDMax), Session: readSession(r)}
		p.Seq, p.Base, p.Round = r.Uint(), r.Uint(), r.Uint32()
		p.AckNow = r.UintMax(1) == 1
		p.Body = r.Bytes(cbor.Any)
		return p, end(r, p.Producer != "" && p.Base > 0 && p.Base <= p.Seq && p.Seq < math.MaxUint64)
	case (kind == wireHandled || kind == wireFailed) && fields == 6:
		h := Handled{Incarnation: r.Uint(), Producer: readID(r, ProducerIDMax), Session: readSession(r), Seq: r.Uint()}
		if kind == wireFailed {
			return Failed(h), end(r, true)
		}
		return h, end(r, true)
	}
	return nil, fmt.Errorf("%w: %d bytes for a consumer", ErrDecode, len(b))
}

// DecodeAck reads an Ack.
func DecodeAck(b []byte) (Ack, error) {
	r := cbor.NewReader(b)
	fields, kind := open(r)
	if kind != wireAck || fields != 9 {
		return Ack{}, fmt.Errorf("%w: %d bytes for a producer", ErrDecode, len(b))
	}
	a := Ack{Entity: readID(r, entityIDMax), Session: readSession(r), Verdict: Verdict(r.UintMax(uint64(verdicts - 1)))}
	a.Confirmed, a.Expected, a.Window, a.Round = r.Uint(), r.Uint(), r.Uint32(), r.Uint32()
	return a, end(r, a.Entity != "" && a.Expected > a.Confirmed)
}

// open reads what begin has appended. The kind is 0 if it is no message of this version.
func open(r *cbor.Reader) (fields int, kind uint64) {
	if r.Byte() != wireVersion {
		return 0, 0
	}
	return r.Array(cbor.Any), r.UintMax(math.MaxUint8)
}

// readID reads the id of a producer or an entity. A producer's may be any bytes.
func readID(r *cbor.Reader, most int) string { return string(r.RawText(most)) }

func readSession(r *cbor.Reader) Session { return Session{Generation: r.Uint(), Channel: r.Uint()} }

// end returns what is wrong: a fault of the reader, bytes that are left, or values that do not fit
// each other.
func end(r *cbor.Reader, fits bool) error {
	if !fits {
		r.Fail("values that do not fit each other")
	}
	if err := r.End(); err != nil {
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	return nil
}
