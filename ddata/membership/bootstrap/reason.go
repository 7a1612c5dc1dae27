package bootstrap

import "fmt"

// Reason says why a node was refused.
type Reason uint8

// The reasons of a refusal.
const (
	ReasonName   Reason = iota + 1 // another cluster name
	ReasonFormat                   // it does not speak the format level of the cluster
	ReasonConfig                   // another configuration hash
	ReasonDisk                     // its disk belongs to another cluster
	ReasonRole                     // not acceptable as it describes itself
	ReasonGone                     // it was listed and removed before it knew; a new uid will be taken
	ReasonCopy                     // its disk is a copy of that of a member that is running
	ReasonRoom                     // a view with it would be too large to be stored and sent
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case ReasonName:
		return "cluster name"
	case ReasonFormat:
		return "format level"
	case ReasonConfig:
		return "configuration"
	case ReasonDisk:
		return "disk"
	case ReasonRole:
		return "description"
	case ReasonGone:
		return "removed"
	case ReasonCopy:
		return "copied disk"
	case ReasonRoom:
		return "room in a view"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}
