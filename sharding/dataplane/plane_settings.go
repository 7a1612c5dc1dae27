package dataplane

import (
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/pool"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Settings are what a data plane is made of. Those of the type are explained by
// sharding.EntityType, those of the node by sharding.Ports.
type Settings struct {
	Type, Role string
	Proxy      bool // it never hosts
	Shards     int
	ShardOf    protocol.ShardFunc

	Cluster           host.Cluster
	ClusterName, Addr string
	Lease             host.Lease
	Network           host.Channels
	Log               *slog.Logger
	Scheduler         scheduler.Scheduler
	Meter             events.Meter // nil: there is none

	Messages *codec.Registry
	Errors   failure.Known // of handlers, which travel as themselves
	OnDrop   func(failure.Drop)

	Timeouts    Timeouts
	Passivation passivation.Strategy
	Supervisor  Supervisor
	Leases      protocol.Leases[locks.Store]
	Limits      Limits
	NodeBytes   *mailbox.NodeBytes // of the node; nil: no bound holds for it
	Defects     defect.Set         // planted by a test
}

// New makes a data plane. It needs a control plane, and the bodies of entities, before it is
// used.
func New(t Settings) *Plane {
	self := t.Cluster.UID()
	t.Timeouts, t.Limits = t.Timeouts.WithDefaults(), t.Limits.WithDefaults()
	r := &Plane{
		Name: t.Type, Role: t.Role, Proxy: t.Proxy, Self: uint64(self), Cluster: t.Cluster, Registry: t.Messages,
		QueryTimeout: t.Timeouts.Query,
		Routes:       newRoutes(t.Shards),
		Pool:         pool.New[*Entity](t.Limits.Workers, t.Limits.WorkersMax, t.Scheduler, t.Defects), Log: t.Log,
		Panics:     failure.NewPanics(t.Type, t.Log, t.Scheduler),
		mailboxMax: t.Limits.MailboxMax, MailboxBytes: uint32(t.Limits.MailboxBytes), AskTimeout: t.Timeouts.Ask,
		Scheduler: t.Scheduler, start: t.Scheduler.Now(), seed: t.Scheduler.Uint64(),
		Closed: make(chan struct{}), Ended: make(chan struct{}),
		Meters: newMeters(t.Meter, t.Type),
	}
	r.Asks = asks.NewTable(t.Limits.AsksMax, t.Timeouts.Ask, r.Clock, t.Scheduler)
	r.defects, r.Routes.defects = t.Defects, t.Defects
	r.Routes.shardOf = r.Panics.GuardShardFunc(t.ShardOf)
	r.Drops = failure.NewDrops(t.Type, failure.GuardHook(r.Panics, "OnDrop", t.OnDrop))
	r.Drops.Defects = t.Defects
	r.Standing.cluster, r.Standing.role, r.Standing.self = t.Cluster, t.Role, r.Self
	r.Attached.drops, r.Attached.panics = r.Drops, r.Panics
	r.decoder = decoder{r.Registry, r.Panics}
	r.Out.self, r.Out.Net, r.Out.Channel, r.Out.reg, r.Out.known = r.Self, t.Network,
		ChannelOf(t.Type), r.Registry, t.Errors
	r.Out.asks, r.Out.drops, r.Out.panics, r.Out.clock = r.Asks, r.Drops, r.Panics, r.Clock
	r.Out.start(t.Timeouts.Ask, t.Scheduler)
	r.Routes.self, r.Routes.out, r.Routes.asks, r.Routes.decoder, r.Routes.ended = r.Self, &r.Out,
		r.Asks, r.decoder, r.Ended
	r.Routes.Limit.CountMax, r.Routes.Limit.bytesMax = int64(t.Limits.BufferMax), int64(t.Limits.BufferBytes)
	r.Lease = lease.NewNode(t.Lease, t.Scheduler)
	r.Held = mailbox.NewHeldBytes(int64(t.Limits.RegionBytes), t.NodeBytes)
	r.supervisor = t.Supervisor
	r.supervisor.Supervision = t.Supervisor.WithDefaults()
	r.supervisor.typ, r.supervisor.log = t.Type, t.Log
	r.supervisor.Decide = guardDecide(r.Panics, t.Supervisor.Default, t.Supervisor.Decide)
	r.supervisor.OnFailure = failure.GuardHook(r.Panics, "OnFailure", t.Supervisor.OnFailure)
	r.Leases.Shards = r.Panics.GuardLeases("Leases.Shards", t.Leases.Shards)
	r.Leases.Coordinator = r.Panics.GuardLeases("Leases.Coordinator", t.Leases.Coordinator)
	r.Leases.Cluster, r.Leases.Owner = t.ClusterName, fmt.Sprintf("%v of %s", self, t.Addr)
	r.Slow = pool.NewWatch(r.Pool, t.Scheduler, pool.WatchSettings[*Entity]{
		After: t.Timeouts.HandlerSlow, Note: r.noteSlow, Where: HandlerIn,
	})
	r.IdleScan = newIdleScan(t.Passivation, r.Routes.Shards, t.Scheduler)
	r.Passivations.start(t.Passivation)
	return r
}
