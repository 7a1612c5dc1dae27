package crdt

import "fmt"

// Digest is the sum modulo 2^128 of keyed hashes of live items, high word first. It does not depend on the order in which items came.
type Digest [2]uint64

// String prints the digest as 32 hexadecimal digits.
func (d Digest) String() string { return fmt.Sprintf("%016x%016x", d[0], d[1]) }
