package sharding

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// settings are what a data plane is made of. Those of the type are explained by
// sharding.EntityType, those of the node by sharding.Ports.
type settings struct {
	typ, role string
	proxy     bool // it never hosts
	shards    int
	hash      protocol.Hash

	cluster           host.Cluster
	clusterName, addr string
	lease             host.Lease
	network           host.Channels
	log               *slog.Logger
	meter             events.Meter // nil: there is none

	messages *codec.Registry
	errors   []error // of handlers, which travel as themselves
	onDrop   func(Drop)

	askTimeout, queryTimeout time.Duration
	slowAfter                time.Duration // of a handler
	passivation              passivation.Strategy
	supervision              supervisor
	shardLeases              locks.Store // nil: none is asked
	coordinatorLeases        locks.Store // nil: none is asked
	limits                   limits
}

// limits bound what a data plane holds.
type limits struct {
	mailboxMax, bufferMax, asksMax int
	// in bytes
	mailboxBytes, regionBytes, bufferBytes int

	nodeBytes           *nodeBytes // of the node; nil: no bound holds for it
	workers, workersMax int
}

// newCore makes a data plane. It needs a control plane, and the bodies of entities, before it is
// used.
func newCore(t settings) *core {
	self := t.cluster.UID()
	r := &core{
		name: t.typ, role: t.role, proxy: t.proxy, self: uint64(self), cluster: t.cluster, reg: t.messages,
		queryTimeout: t.queryTimeout,
		routes:       newRoutes(t.shards, t.hash), asks: newAsks(t.limits.asksMax),
		pool: newPool(t.limits.workers, t.limits.workersMax), log: t.log,
		mailboxMax: t.limits.mailboxMax, mailboxBytes: uint32(t.limits.mailboxBytes), askTimeout: t.askTimeout,
		start: time.Now(), closed: make(chan struct{}), ended: make(chan struct{}), meters: newMeters(t.meter, t.typ),
	}
	r.panics.typ, r.panics.log = t.typ, t.log
	r.drops.typ, r.drops.hook = t.typ, guardHook(&r.panics, "OnDrop", t.onDrop)
	r.standing.cluster, r.standing.role, r.standing.self = t.cluster, t.role, r.self
	r.attached.drops, r.attached.panics = &r.drops, &r.panics
	r.decoder = decoder{r.reg, &r.panics}
	r.out.self, r.out.net, r.out.channel, r.out.reg, r.out.errors = r.self, t.network, channelOf(t.typ), r.reg, t.errors
	r.out.asks, r.out.drops, r.out.panics, r.out.clock = r.asks, &r.drops, &r.panics, r.clock
	r.out.start(t.askTimeout)
	r.routes.self, r.routes.out, r.routes.asks, r.routes.decoder, r.routes.ended = r.self, &r.out, r.asks, r.decoder, r.ended
	r.routes.limit.countMax, r.routes.limit.bytesMax = int64(t.limits.bufferMax), int64(t.limits.bufferBytes)
	r.lease.node, r.lease.pool, r.lease.scan = t.lease, r.pool, &r.idleScan
	r.held.max, r.held.node = int64(t.limits.regionBytes), t.limits.nodeBytes
	r.supervisor = t.supervision
	r.supervisor.typ, r.supervisor.log, r.supervisor.onFailure = t.typ, t.log, guardHook(&r.panics, "OnFailure", t.supervision.onFailure)
	r.leases.shards = r.panics.guardLeases("Lease", t.shardLeases)
	r.leases.coordinator = r.panics.guardLeases("CoordinatorLease", t.coordinatorLeases)
	r.leases.cluster, r.leases.owner = t.clusterName, fmt.Sprintf("%v of %s", self, t.addr)
	r.slow.pool, r.slow.clock = r.pool, r.clock
	r.slow.note = func(e protocol.Event) { r.ctl.note(e) }
	r.slow.watch(t.slowAfter)
	r.idleScan.asks, r.idleScan.lease, r.idleScan.slow, r.idleScan.clock = r.asks, &r.lease, &r.slow, r.clock
	r.idleScan.idleBy(t.passivation)
	r.passivations.start(t.passivation)
	return r
}
