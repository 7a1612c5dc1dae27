package sharding

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/lease"
)

// leases is what a region knows of its stores of leases.
type leases struct {
	shards, coordinator lease.Store // nil: none is asked
	cluster             string
	owner               string
	lost                atomic.Uint64 // of shards
}

func (c *control) newLeaser(store lease.Store, name string) *leaser {
	return &leaser{ctx: c.ctx, store: store, name: name, owner: c.r.leases.owner, log: c.r.log}
}
