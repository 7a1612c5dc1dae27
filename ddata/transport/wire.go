package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/format"
)

// The wire of a connection.
//
//	handshake  = magic(4) version(1) kind(1) length(2, big endian) body(length, CBOR)
//	frame      = length channel payload, see package frame
//
//	dialler                                 receiver
//	   │ handshake link|addr|stream, hello ──► │   the hello has the format levels that the dialler speaks
//	   │ ◄── handshake welcome|refusal, answer │   a refusal ends the connection
//	   │ frame frame frame … ────────────────► │   link, addr: one way
//	   │ ◄────────── receipt(8, little endian) │   link of the Data lane only: how many frames were received, see package receipt
//	   │ ◄───────── raw bytes ───────────────► │   stream: both ways
//
// The first eight bytes keep this form in every version, so that any two versions can refuse each
// other with a reason. Bodies are maps with integer keys; unknown keys are ignored, so fields may
// be added without a new version. What comes behind the welcome, and in frames, has the form of a
// format level (package format): two nodes without one in common refuse each other.
const handshakeVersion = 3

var magic = [4]byte{0xC0, 'T', 'R', 'Y'}

const handshakeHeader = 8

// kind says what a handshake opens or answers.
type kind uint8

const (
	kindLink    kind = 1 // one lane and stripe to a node that is named
	kindAddr    kind = 2 // frames to the process that listens at the address
	kindStream  kind = 3 // raw bytes
	kindWelcome kind = 4
	kindRefusal kind = 5
	kinds       kind = 6
)

// hello is what a dialler says of itself and of what it wants.
type hello struct {
	Cluster    string  `cbor:"1,keyasint"`
	From       NodeID  `cbor:"2,keyasint"`
	To         NodeID  `cbor:"3,keyasint,omitempty"` // the incarnation meant; zero for kinds addr and stream
	Addr       string  `cbor:"4,keyasint"`           // where the dialler listens
	Lane       Lane    `cbor:"5,keyasint,omitempty"`
	Stripe     uint32  `cbor:"6,keyasint,omitempty"`
	Generation uint64  `cbor:"7,keyasint,omitempty"`
	Channel    Channel `cbor:"8,keyasint,omitempty"` // of a stream
	FrameMax   uint32  `cbor:"9,keyasint,omitempty"`
	Written    uint64  `cbor:"10,keyasint,omitempty"` // frames that earlier connections of the link were given
	MessageMax uint32  `cbor:"11,keyasint,omitempty"`
	Acked      uint64  `cbor:"12,keyasint,omitempty"` // of Written, the frames of which the dialler knows what became

	Formats format.Range `cbor:"13,keyasint"` // that the dialler speaks
}

// answer is what a receiver says to a hello.
type answer struct {
	From   NodeID `cbor:"1,keyasint"`
	Reason Reason `cbor:"2,keyasint,omitempty"`
	Text   string `cbor:"3,keyasint,omitempty"`

	Received uint64 `cbor:"4,keyasint,omitempty"` // frames of the link that were received on earlier connections
	// nothing is known of the frames between the hello's Acked and Received
	Fresh bool `cbor:"5,keyasint,omitempty"`
}

// errVersion says that a handshake is of another version; the rest of it was read.
type errVersion uint8

func (e errVersion) Error() string {
	return fmt.Sprintf("handshakes of version %d, here %d", uint8(e), handshakeVersion)
}

// appendHandshake appends a handshake with body v, which is a hello or an answer.
func appendHandshake(dst []byte, k kind, v any) ([]byte, error) {
	body := cbor.Records.MustAppend(nil, v)
	if len(body) > helloMax {
		return dst, fmt.Errorf("transport: handshake of %d bytes is above %d", len(body), helloMax)
	}
	dst = append(dst, magic[:]...)
	dst = append(dst, handshakeVersion, byte(k))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(body)))
	return append(dst, body...), nil
}

// readHandshake reads one handshake and no byte more. An error that wraps ErrProtocol says that
// the other side is no Coterie node; errVersion that it is one of another version.
func readHandshake(r io.Reader) (kind, []byte, error) {
	var head [handshakeHeader]byte
	_, err := io.ReadFull(r, head[:])
	switch first := string(head[:2]); {
	case first == tlsAlert || first == tlsHello:
		return 0, nil, ErrRefused{Reason: RefusedTLS, Text: textTLS}
	case err != nil:
		return 0, nil, err
	}
	if [4]byte(head[:4]) != magic {
		return 0, nil, fmt.Errorf("%w: %q is not the start of a handshake", ErrProtocol, head[:4])
	}
	n := int(binary.BigEndian.Uint16(head[6:]))
	if n > helloMax {
		return 0, nil, fmt.Errorf("%w: handshake of %d bytes", ErrProtocol, n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	if head[4] != handshakeVersion {
		return 0, nil, errVersion(head[4])
	}
	return kind(head[5]), body, nil
}

// decodeHello decodes a hello. Its bounds are those of check, if there is a format level in common.
func decodeHello(body []byte) (hello, error) {
	var h hello
	if err := cbor.Records.Decode(body, &h); err != nil {
		return hello{}, err
	}
	return h, h.Formats.Check()
}

// check holds a hello to its bounds.
func (h hello) check() error {
	if h.From == 0 || h.Lane >= lanes || h.Stripe >= stripesLimit || h.Acked > h.Written {
		return errors.New("a field is out of range")
	}
	if len(h.Cluster) > nameMax {
		return errors.New("the cluster name is too long")
	}
	return address.CheckPeer(h.Addr)
}

func decodeAnswer(k kind, body []byte) (answer, error) {
	var a answer
	if err := cbor.Records.Decode(body, &a); err != nil {
		return answer{}, fmt.Errorf("%w: answer: %w", ErrProtocol, err)
	}
	switch k {
	case kindWelcome:
		return a, nil
	case kindRefusal:
		return a, ErrRefused{Reason: a.Reason, Text: clip(a.Text)}
	}
	return answer{}, fmt.Errorf("%w: answer of kind %d", ErrProtocol, k)
}

// clip bounds a refusal's text, which comes from a peer and goes to logs.
func clip(s string) string {
	if len(s) <= textMax {
		return s
	}
	s = s[:textMax]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
