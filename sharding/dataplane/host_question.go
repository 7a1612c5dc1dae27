package dataplane

import (
	"encoding/binary"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// ChannelOf is the channel of an entity type.
func ChannelOf(name string) transport.Channel { return transport.ChannelOf("sharding/" + name) }

// AppendQuestion appends a control frame, and before it what a node answers that has not started
// the type.
func AppendQuestion(dst []byte, m protocol.Message) []byte {
	q := host.Question{Lane: transport.Control}
	if answer := (&protocol.NotStarted{}).Answer(m); answer != nil {
		q.Otherwise = codec.AppendControl(nil, protocol.AppendMessage(nil, answer))
	}
	if in, ok := m.(protocol.Inquire); ok {
		q.Promise = AppendFloor(nil, in.Floor)
	}
	return codec.AppendControl(q.Append(dst), protocol.AppendMessage(nil, m))
}

// NotStartedReply is what an inspection hears of a node that has not started the type.
func NotStartedReply(call uint64) []byte {
	return codec.AppendErrorReply(nil, call, codec.StatusStopped, "the type is not started there")
}

// FrameOf is a payload without the question before it.
func FrameOf(payload []byte) []byte {
	_, frame, _ := host.CutQuestion(payload)
	return frame
}

// floorSize is the size of a floor as a promise.
const floorSize = 20

// AppendFloor appends a floor as a promise: bytes.Compare orders them as Token.Compare does.
func AppendFloor(dst []byte, t protocol.Token) []byte {
	dst = binary.BigEndian.AppendUint64(dst, t.Epoch)
	dst = binary.BigEndian.AppendUint32(dst, t.Up)
	return binary.BigEndian.AppendUint64(dst, t.Seq)
}

// FloorOf is the floor that was promised, zero if none was. What is no floor was no type's question.
func FloorOf(promised []byte) protocol.Token {
	if len(promised) != floorSize {
		return protocol.Token{}
	}
	return protocol.Token{
		Epoch: binary.BigEndian.Uint64(promised), Up: binary.BigEndian.Uint32(promised[8:]),
		Seq: binary.BigEndian.Uint64(promised[12:]),
	}
}
