package view

import "github.com/coterie-go/coterie/crdt/cbor"

// Append appends the encoding of the view, the array of its fields in order. The view's hash is
// that of these bytes.
func (v *View) Append(dst []byte) []byte { return cbor.Records.MustAppend(dst, v) }
