package view

import "time"

// Era names the time of a cluster's first founding, in milliseconds since 1970 by the wall clock of
// the node that proposed it. All views of the cluster carry it, across complete restarts on the
// directories. A cluster that is founded without the directories of the former one begins an era of
// its own.
type Era uint64

// EraAt is the era of a cluster that is founded at now. A clock before 1970 gives the lowest.
func EraAt(now time.Time) Era { return Era(max(0, now.UnixMilli())) }
