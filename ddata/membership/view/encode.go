package view

import "github.com/fxamacker/cbor/v2"

// encoder writes the array of a view's fields in order: core deterministic CBOR. A view's hash is
// that of these bytes.
var encoder = mustEncoder()

func mustEncoder() cbor.EncMode {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic("view: cbor: " + err.Error())
	}
	return enc
}

// Append appends the encoding of the view.
func (v *View) Append(dst []byte) []byte {
	b, err := encoder.Marshal(v)
	if err != nil {
		panic("view: encoding: " + err.Error()) // own structs always encode
	}
	return append(dst, b...)
}
