package dataplane

import (
	"log/slog"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Plane is a region without its type parameter: the data plane of one entity type on one node.
type Plane struct {
	Name      string
	Role      string
	Proxy     bool
	Self      uint64
	Cluster   host.Cluster
	Registry  *codec.Registry
	decoder   decoder
	Routes    *routes.Table
	Entities  *entities.Runtime
	Asks      *asks.Table
	Drops     *failure.Drops
	Panics    *failure.Panics
	Out       Outbox
	Leases    lease.Stores
	Log       *slog.Logger
	Ctl       Controller
	Farewells Farewells

	StoreFailure storeFailure
	Meters       *Meters // nil: there is no Meter

	Timeouts    Timeouts
	Standing    Standing
	Attached    attachments
	inspections atomic.Int32 // being answered

	Scheduler scheduler.Scheduler

	Closed chan struct{} // it refuses its users
	Ended  chan struct{} // nor does it pass on what others send
}

// Controller is what the data plane tells the control plane. Its methods do not wait.
type Controller interface {
	entities.Control
	routes.Control
	Misrouted(from uint64, shard uint32)                  // another node's route is wrong
	Admit(from uint64, bytes int) (runloop.Permit, bool)  // room for what another node wants of an entity
	Reshare()                                             // the region's limit on active entities has changed
	Receive(from uint64, msg protocol.Message, bytes int) // of a machine on another node, and what it came in
	Rejected(from uint64, err error)                      // bytes that are no such message
	// runs it on a goroutine that is awaited by the end; false: not any more, the region ends
	Aside(fn func()) bool
}

// SteeredBy says which control plane hears of what happens here.
func (r *Plane) SteeredBy(c Controller) {
	r.Ctl = c
	r.Routes.SteeredBy(c)
	r.Entities.SteeredBy(c)
}

func (r *Plane) isClosed() bool { return IsDone(r.Closed) }

// HasEnded reports whether nothing is passed on any more.
func (r *Plane) HasEnded() bool { return IsDone(r.Ended) }

// IsDone reports whether a channel is closed.
func IsDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
