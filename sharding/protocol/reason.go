package protocol

import "fmt"

// Reason says why a message was dropped.
type Reason uint8

// Reasons of dropped messages.
const (
	BufferFull     Reason = iota + 1 // the region's bound on buffered messages was hit
	HandOffAborted                   // the hand-off ended without a home that could take the buffer
	NodeLost                         // this node was removed from the cluster
	Stopped                          // the region or the node has stopped
	EntityStopped                    // the entity ended with the message in its mailbox
	InvalidID                        // the entity id is empty, too long or no UTF-8
	NoLease                          // this node does not hold its lease
	ShardFailed                      // the shard failed with the message in its buffer
	NoHome                           // nobody hosts the type any more
	reasonEnd
)

var reasonNames = [reasonEnd]string{
	"", "buffer full", "hand-off aborted", "node lost", "stopped", "entity stopped", "invalid id", "no lease", "shard failed", "no home",
}

// String names the reason.
func (r Reason) String() string {
	if r == 0 || r >= reasonEnd {
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
	return reasonNames[r]
}
