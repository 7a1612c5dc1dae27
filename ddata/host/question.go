package host

import (
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Question says what a node answers to a frame while nothing there serves the frame's channel. It
// travels as a head before the frame:
//
//	'?' [lane, promise, otherwise]    in CBOR, then the frame
//
// So a node answers for extensions that it does not have, or that are not started on it.
type Question struct {
	// Lane is where the answer goes.
	Lane transport.Lane
	// Promise, when it is not empty, is a promise that the answering node makes: it answers no
	// question with a lower one, in the order of bytes.Compare, and hands the highest over to what
	// serves the channel later (Channels.Claim). At most 64 bytes.
	Promise []byte
	// Otherwise is the answer, a frame of the same channel; empty: none. At most 1 KiB.
	Otherwise []byte
}

// questionMark is the first byte of a question. No other frame of a channel that has questions may
// begin with it.
const questionMark = '?'

// Bounds of what a question brings, in bytes.
const (
	promiseMax   = 64
	otherwiseMax = 1 << 10
)

// Append appends the head; the frame goes behind it.
func (q Question) Append(dst []byte) []byte {
	dst = cbor.AppendUint(cbor.AppendArray(append(dst, questionMark), 3), q.Lane)
	return cbor.AppendBytes(cbor.AppendBytes(dst, q.Promise), q.Otherwise)
}

// CutQuestion splits a question from its frame. ok is false, and the frame is payload, when payload
// is none, or a malformed one. What it returns points into payload.
func CutQuestion(payload []byte) (q Question, frame []byte, ok bool) {
	if len(payload) == 0 || payload[0] != questionMark {
		return Question{}, payload, false
	}
	r := cbor.NewReader(payload[1:])
	r.Tuple(3)
	q = Question{
		Lane: transport.Lane(r.UintMax(uint64(transport.Bulk))), Promise: r.Bytes(promiseMax),
		Otherwise: r.Bytes(otherwiseMax),
	}
	if r.Err() != nil {
		return Question{}, payload, false
	}
	return q, r.Rest(), true
}
