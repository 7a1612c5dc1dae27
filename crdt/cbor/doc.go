// Package cbor is the only reader and the only writer of CBOR (RFC 8949) in the tree.
//
// Most formats are written by hand, because every message passes through them: [AppendUint] and its
// siblings append one data item each, and a [Reader] reads them back. Values of users, and records
// of this tree that are rare, go through a [Mode], which encodes Go values by reflection.
//
//	b := cbor.AppendArray(nil, 2)            r := cbor.NewReader(b)
//	b = cbor.AppendUint(b, seq)              r.Tuple(2)
//	b = cbor.AppendBytes(b, payload)         seq, payload := r.Uint(), r.Bytes(payloadMax)
//	                                         err := r.End()
//
// What is written is core-deterministic: heads are the shortest, lengths are definite, the keys of
// a map are in order. A Reader accepts no other head, so that a format of one form per value keeps
// it. A Mode accepts longer heads.
//
// A Reader takes bytes of strangers. It bounds every length by what is left of the input, and it
// allocates nothing but strings that are in the input. After the first fault it answers zeros and
// keeps the error. A decoder therefore reads from top to bottom and looks at the error at the end,
// and before each step of a loop whose length was read.
//
// A struct of which CBOR would keep nothing is found by [Unstored].
//
// The package knows nothing of what is encoded. It knows no floats, no tags and no indefinite
// lengths outside of a Mode.
package cbor
