package protocol

import "fmt"

// Reason says why a message was dropped.
type Reason uint8

// Reasons of dropped messages. A message is dropped only where a bound was hit or a node died.
const (
	DropBufferFull     Reason = iota + 1 // the region's bound on buffered messages was hit
	DropHandOffAborted                   // the hand-off ended without a home that could take the buffer
	DropNodeLost                         // this node was removed from the cluster
	DropStopped                          // the region or the node has stopped
	DropEntityStopped                    // the entity ended with the message in its mailbox
	DropInvalidID                        // the entity id is empty, too long or no UTF-8
	DropNoLease                          // this node does not hold its lease
	DropHomeElsewhere                    // the shard was stopped by force because another node is its home
	DropNoHome                           // the last node that could host the type has left
	DropLeaseLost                        // the shard lost its lease
	DropEnded                            // the whole cluster shuts down, and the shard has ended
	reasonEnd
)

var reasonNames = [reasonEnd]string{
	"", "buffer full", "hand-off aborted", "node lost", "stopped", "entity stopped", "invalid id", "no lease", "home elsewhere", "no home", "lease lost", "ended",
}

func (r Reason) String() string {
	if r == 0 || r >= reasonEnd {
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
	return reasonNames[r]
}
