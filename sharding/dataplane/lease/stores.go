package lease

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Stores is what a region knows of its stores of leases.
type Stores struct {
	Shards, Coordinator locks.Store // nil: none is asked
	Cluster             string
	Owner               string
	Lost                atomic.Uint64 // of shards
}
