package peers

import (
	"errors"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
)

// A frame of the channel, in CBOR:
//
//	[version, kind, id, millis or status, body]
//
// A question says how long the asker waits, an answer how it went. Before a question stands the head
// of a host.Question, with the answer of a node that has no console.
const version = 1

// Kinds of frames.
const (
	question = iota
	answer
	kinds
)

// How an answer went. What is not good has a text as its body.
const (
	good = iota
	failed
	busy
	absent
	statuses
)

// BytesMax bounds the body of a frame. What answers in a list keeps the list below it: an answer that is too long
// is none.
const BytesMax = 768 << 10

// millisMax bounds how long an asker says that it waits.
const millisMax = 10 * 60 * 1000

// frame is one of them.
type frame struct {
	kind, id uint64
	number   uint64 // millis of a question, status of an answer
	body     []byte
}

func (f frame) append(dst []byte) []byte {
	dst = cbor.AppendUints(cbor.AppendArray(dst, 5), version, f.kind, f.id, f.number)
	return cbor.AppendBytes(dst, f.body)
}

// appendQuestion appends a question with its head.
func (f frame) appendQuestion(dst []byte) []byte {
	none := frame{kind: answer, id: f.id, number: absent, body: []byte("it has no console: call console.Answer there")}
	head := host.Question{Lane: transport.Bulk, Otherwise: none.append(nil)}
	return f.append(head.Append(dst))
}

var errMalformed = errors.New("console: malformed frame")

// parse reads a frame. The body points into payload.
func parse(payload []byte) (frame, error) {
	_, payload, _ = host.CutQuestion(payload)
	r := cbor.NewReader(payload)
	r.Tuple(5)
	if r.UintMax(version) != version && r.Err() == nil {
		return frame{}, errMalformed
	}
	f := frame{kind: r.UintMax(kinds - 1), id: r.Uint()}
	if f.kind == question {
		f.number = r.UintMax(millisMax)
	} else {
		f.number = r.UintMax(statuses - 1)
	}
	f.body = r.Bytes(BytesMax)
	if r.End() != nil {
		return frame{}, errMalformed
	}
	return f, nil
}
