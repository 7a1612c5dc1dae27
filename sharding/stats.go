package sharding

import "github.com/coterie-go/coterie/sharding/dataplane"

// Stats is a snapshot of what a region counts.
type Stats = dataplane.Stats

// DropCount is how many messages were lost for one reason.
type DropCount = dataplane.DropCount

// PassivationCount is how many entities were told to stop for one cause.
type PassivationCount = dataplane.PassivationCount
