package crdt_test

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

// trusting has decoders that believe the length of what they are given.
type trusting struct{ X byte }

func (v trusting) MarshalCBOR() ([]byte, error) { return []byte{0x41, v.X}, nil }
func (v *trusting) UnmarshalCBOR(b []byte) error {
	v.X = b[1]
	return nil
}

// trustingID has a codec of its own for paths.
type trustingID struct{ X byte }

func (e trustingID) MarshalBinary() ([]byte, error) { return []byte{e.X}, nil }
func (e *trustingID) UnmarshalBinary(b []byte) error {
	e.X = b[0]
	return nil
}

// A decoder of the user's that panics on what a peer has written is an error of the read, and ends
// no process.
func TestDecoderPanics(t *testing.T) {
	if _, err := crdt.DecodeValue[trusting]("\x40"); !errors.Is(err, crdt.ErrDecode) {
		t.Errorf("value: %v", err)
	}
	if _, err := crdt.DecodeElement[trustingID](""); !errors.Is(err, crdt.ErrDecode) {
		t.Errorf("element with a codec of its own: %v", err)
	}
	if _, err := crdt.DecodeElement[trusting]("\x40"); !errors.Is(err, crdt.ErrDecode) {
		t.Errorf("element in CBOR: %v", err)
	}
	if v, err := crdt.DecodeValue[trusting]("\x41\x07"); err != nil || v.X != 7 {
		t.Errorf("a sound value: %v %v", v, err)
	}
}
