package shutdown

import (
	"fmt"
	"time"
)

// Phase is a part of a shutdown; see the package comment for what each is for.
type Phase uint8

// The phases, in order.
const (
	BeforeServiceUnbind Phase = iota
	ServiceUnbind
	ServiceRequestsDone
	ServiceStop
	BeforeClusterShutdown
	ClusterLeave
	ShardingShutdownRegion
	ClusterExiting
	ClusterShutdown
	BeforeTerminate
	// Phases is their number.
	Phases
)

var names = [Phases]string{
	"before-service-unbind", "service-unbind", "service-requests-done", "service-stop",
	"before-cluster-shutdown", "cluster-leave",
	"sharding-shutdown-region", "cluster-exiting", "cluster-shutdown", "before-terminate",
}

// String names the phase.
func (p Phase) String() string {
	if p < Phases {
		return names[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// HandsOver reports whether the phase is only for nodes that are still members.
func (p Phase) HandsOver() bool { return p >= ClusterLeave && p <= ClusterExiting }

// DefaultTimeout bounds a phase that has no time-out of its own; those that hand over may take what
// is left of the time to leave.
const DefaultTimeout = 5 * time.Second
