package wire

import "github.com/coterie-go/coterie/crdt/cbor"

// KnownKinds are the kinds of messages that Decode knows.
func KnownKinds() (kinds []uint64) {
	for k := range fields {
		if fields[k] > 0 {
			kinds = append(kinds, uint64(k))
		}
	}
	return kinds
}

// KindOf is the kind of an encoded message.
func KindOf(b []byte) uint64 {
	r := cbor.NewReader(b[1:])
	r.Array(cbor.Any)
	return r.Uint()
}
