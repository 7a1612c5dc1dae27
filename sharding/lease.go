package sharding

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/locks"
)

// leases is what a region knows of its stores of leases.
type leases struct {
	shards, coordinator locks.Store // nil: none is asked
	cluster             string
	owner               string
	lost                atomic.Uint64 // of shards
}
