package region

import (
	"github.com/coterie-go/coterie/sharding/protocol"
)

// departure is how far a region is on its way out.
//
// Invariants: each of the other fields implies leaving. A region that has left hosts nothing.
type departure struct {
	*env
	registration *registration

	leaving, left bool
	released      bool // leaving, and the coordinator will not send anything here any more
	alone         bool // leaving, and no other region can take the shards
	quits         bool // alone, because what is here shall end at once
	wasEmpty      bool // leaving, and nothing was hosted here after the Step before
}

// noHome returns the reason to drop messages for a shard that no region takes.
func (d *departure) noHome() protocol.Reason {
	switch {
	case d.closing():
		return protocol.DropEnded
	case d.quits || !d.registration.joined:
		return protocol.DropStopped
	}
	return protocol.DropNoHome
}

// owesLeft reports whether the coordinator may still take this region, which has stopped its shards
// by itself, for their home.
func (d *departure) owesLeft() bool {
	return d.left && d.alone && !d.released && d.registration.coordinator != 0
}

// leaveRequest asks for the next homes of what is here, or says that nothing is.
func (d *departure) leaveRequest() protocol.LeaveRequest {
	return protocol.LeaveRequest{Left: d.left, Closing: d.left && d.closing(), Life: d.registration.life}
}
