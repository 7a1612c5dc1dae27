package wire

import (
	"encoding/binary"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// The fields that several messages have.

// appendHash appends a hash of 16 bytes.
func appendHash(dst []byte, h [16]byte) []byte { return append(cbor.AppendBytesHead(dst, 16), h[:]...) }

// readHash reads a hash of 16 bytes.
func readHash(r *cbor.Reader) (h [16]byte) {
	if b := r.Bytes(len(h)); copy(h[:], b) < len(h) {
		r.Fail("%d bytes, not %d", len(b), len(h))
	}
	return h
}

func appendDigest(dst []byte, d crdt.Digest) []byte {
	dst = binary.BigEndian.AppendUint64(cbor.AppendBytesHead(dst, 16), d[0])
	return binary.BigEndian.AppendUint64(dst, d[1])
}

func readDigest(r *cbor.Reader) crdt.Digest {
	h := readHash(r)
	return crdt.Digest{binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])}
}

// appendClock appends a clock, or null for nil.
func appendClock(dst []byte, c *crdt.Clock) []byte {
	if c == nil {
		return cbor.AppendNull(dst)
	}
	return c.Append(dst)
}

// readClockOrNull reads a clock, or nil for null.
func readClockOrNull(r *cbor.Reader) *crdt.Clock {
	if r.Null() {
		return nil
	}
	return dots.Read(r)
}

func readSpace(r *cbor.Reader) keyspace.Space {
	return keyspace.Space(r.UintMax(uint64(keyspace.Count) - 1))
}
