package protocol

import "fmt"

// Reason says why a message was dropped.
type Reason uint8

// Reasons for which the machines have messages dropped. The runtime has others.
const (
	DropNodeLost      Reason = iota + 1 // this node was removed from the cluster
	DropStopped                         // the region was closed, and what waited could not be handed over in time
	DropHomeElsewhere                   // the shard was stopped by force because another node is its home
	DropNoHome                          // the last node that could host the type has left
	DropLeaseLost                       // the shard lost its lease
	DropEnded                           // the whole cluster shuts down, and the shard has ended
	reasonEnd
)

var reasonNames = [reasonEnd]string{
	"", "node lost", "stopped", "home elsewhere", "no home", "lease lost", "ended",
}

func (r Reason) String() string {
	if r == 0 || r >= reasonEnd {
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
	return reasonNames[r]
}
