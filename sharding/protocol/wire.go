package protocol

import "errors"

// ErrDecode: the bytes are no message of this protocol.
var ErrDecode = errors.New("sharding/protocol: malformed message")

// AppendMessage appends the encoded message to dst.
func AppendMessage(dst []byte, m Message) []byte { return dst }

// DecodeMessage decodes one message.
func DecodeMessage(b []byte) (Message, error) { return nil, ErrDecode }
