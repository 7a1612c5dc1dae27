package dataplane

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Leases is what a region knows of its stores of leases.
type Leases struct {
	Shards, Coordinator locks.Store // nil: none is asked
	Cluster             string
	Owner               string
	Lost                atomic.Uint64 // of shards
}
