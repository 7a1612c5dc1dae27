package coordinator

import (
	"github.com/coterie-go/coterie/sharding/protocol"
)

// shardStep is how far the coordinator has come with a shard.
type shardStep uint8

const (
	stateUnallocated shardStep = iota
	stateWanted
	stateClearing // it was stopped for good, and the table is being told that it has no home
	stateEnded    // its home has stopped it, or is gone, while the cluster shuts down: it gets no other
	stateWriting
	stateHosting
	stateHosted
	stateFencing
	stateStopping
)

var shardStepNames = [...]string{
	"unallocated", "wanted", "clearing", "ended", "writing", "hosting", "hosted", "fencing", "stopping",
}

// shardState is what the coordinator knows of one shard.
type shardState struct {
	state shardStep
	moved bool           // a hand-off or the loss of its home brought it here, and its next home has not answered yet
	sent  uint32         // the tick in which the last command about it was sent
	home  protocol.UID   // 0 when empty, wanted, clearing or ended; the owner while fencing and stopping
	near  neighbours     // of the same home
	token protocol.Token // of the table entry
}

// counts reports whether the shard is part of the load of its home.
func (s *shardState) counts() bool { return s.state >= stateWriting && s.state <= stateHosted }

// givenUp reports whether a report is about the command by which from hosts the shard now: it has
// stopped it without a hand-off.
func (s *shardState) givenUp(from protocol.UID, t protocol.Token) bool {
	return (s.state == stateHosting || s.state == stateHosted) && s.home == from && s.token == t
}
