package sharding

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// core is a region without its type parameter: the data plane of one entity type on one node.
type core struct {
	name     string
	role     string
	proxy    bool
	self     uint64
	cluster  host.Cluster
	reg      *codec.Registry
	decoder  decoder
	routes   *routes
	asks     *asks
	drops    drops
	panics   panics
	pool     *pool
	out      outbox
	lease    handlerLease
	leases   leases
	log      *slog.Logger
	ctl      controller
	departed sync.Map // uint64 of nodes that have said farewell and are members still: struct{}
	slow     slowWatch

	mailboxMax   int
	mailboxBytes uint32
	held         heldBytes
	askTimeout   time.Duration
	supervisor   supervisor
	newBody      func(e *entity) incarnation

	storeFailure storeFailure
	passivations passivations
	restored     atomic.Uint64 // entities started because they are remembered
	meters       *meters       // nil: there is no Meter

	queryTimeout time.Duration
	standing     standing
	attached     attachments
	inspections  atomic.Int32 // being answered

	start time.Time // of the region's clock

	measures bool // what shards do is measured
	idleScan idleScan

	closed chan struct{} // it refuses its users
	ended  chan struct{} // nor does it pass on what others send
}

// controller is what the data plane tells the control plane. Its methods do not wait.
type controller interface {
	wanted(shard uint32)                                      // the shard's buffer has got a message
	flushLater(shard uint32)                                  // the shard's buffer could not be flushed now
	misrouted(from uint64, shard uint32)                      // another node's route is wrong
	wake(s *shard, id string)                                 // a message waits for an entity that is not active
	passivate(*shard, string, protocol.Cause, runloop.Permit) // the entity shall stop and be forgotten
	admit(from uint64, bytes int) (runloop.Permit, bool)      // room for what another node wants of an entity
	reshare()                                                 // the region's limit on active entities has changed
	entityStopped(s *shard, id string)                        // its incarnation is over
	startEntity(*shard, string, envelope, runloop.Permit)     // it shall run; env is answered when it does
	receive(from uint64, msg protocol.Message, bytes int)     // of a machine on another node, and what it came in
	rejected(from uint64, err error)                          // bytes that are no such message
	note(e protocol.Event)                                    // something worth an event
	aside(fn func()) bool                                     // runs it on a goroutine that is awaited by the end; false: not any more, the region ends
}

// steeredBy says which control plane hears of what happens here.
func (r *core) steeredBy(c controller) { r.ctl, r.routes.ctl = c, c }

func (r *core) clock() time.Duration { return time.Since(r.start) }

func (r *core) wake(s *shard, id string) { r.ctl.wake(s, id) }
func (r *core) passivate(s *shard, id string, why protocol.Cause) {
	r.ctl.passivate(s, id, why, runloop.Permit{})
}
func (r *core) entityStopped(s *shard, id string) { r.ctl.entityStopped(s, id) }

func (r *core) isClosed() bool { return isDone(r.closed) }
func (r *core) hasEnded() bool { return isDone(r.ended) }

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// errRouteChanged is returned by the check under the lane's lock: load the route again.
var errRouteChanged = errors.New("sharding: route changed")
