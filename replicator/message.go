package replicator

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
)

// Message is what one Replicator sends to another: a pointer to one of the structs of this file, or a batch of them inside.
// A message is immutable once sent.
type Message interface {
	fmt.Stringer
	message()
}

// Summary is what gossip says of one space: who holds the same, and whether all of it counts.
type Summary struct {
	Hash    [16]byte    // of the content clock
	Digest  crdt.Digest // of the live items
	Acked   bool        // the acked clock equals the content clock
	Settled uint64      // the newest epoch known to be settled, 0: none
}
