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

func (c *control) newLeaseClient(store locks.Store, name string) *leaseClient {
	return &leaseClient{ctx: c.ctx, store: store, name: name, owner: c.r.leases.owner, log: c.r.log}
}
