package dataplane

import (
	"fmt"
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
	incoming  incoming
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

	Users UserGate      // lets users in until the region is closed
	Ended chan struct{} // nor does it pass on what others send
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

// HasEnded reports whether nothing is passed on any more.
func (r *Plane) HasEnded() bool { return IsDone(r.Ended) }

// UserGate lets the users of a region in, until the region is closed to them for good.
type UserGate struct {
	typ    string
	closed chan struct{}
	why    error // what users get; set before closed is closed
}

func newUserGate(typ string) UserGate { return UserGate{typ: typ, closed: make(chan struct{})} }

// Close refuses users from now on. It is called once.
func (g *UserGate) Close(why error) {
	g.why = g.stoppedBy(why)
	close(g.closed)
}

// Closed is closed when users are refused.
func (g *UserGate) Closed() <-chan struct{} { return g.closed }

// Err is what users get once they are refused: ErrStopped with the name of the type and the reason.
// Before that it is nil.
func (g *UserGate) Err() error {
	if IsDone(g.closed) {
		return g.why
	}
	return nil
}

func (g *UserGate) stoppedBy(why error) error {
	return fmt.Errorf("%w: entity type %q: %w", failure.ErrStopped, g.typ, why)
}

// IsDone reports whether a channel is closed.
func IsDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
