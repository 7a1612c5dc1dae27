package dataplane

import (
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
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
	Meter             events.Meter   // nil: there is none
	Tracer            tracing.Tracer // nil: nothing is traced
	// ReadHeaders reports whether all members read the headers of messages that belong to a trace;
	// nil: they do not.
	ReadHeaders func() bool

	Messages *codec.Registry
	Errors   failure.Known   // of handlers, which travel as themselves
	OnEvent  events.Listener // nil: none

	Timeouts    Timeouts
	Passivation passivation.Strategy
	Supervisor  entities.Supervisor
	Leases      protocol.Leases[locks.Store]
	Limits      Limits
	NodeBytes   *mailbox.NodeBytes // of the node; nil: no bound holds for it
	Defects     defect.Set         // planted by a test
}

// New makes a data plane. It needs a control plane, and the bodies of entities, before it is
// used.
func New(t Settings) *Plane {
	self := t.Cluster.UID()
	if t.Leases.Announced {
		t.Leases.Shards, t.Leases.Coordinator = nil, nil // none is taken
	}
	t.Timeouts, t.Limits = t.Timeouts.WithDefaults(), t.Limits.WithDefaults()
	r := &Plane{
		Name: t.Type, Role: t.Role, Proxy: t.Proxy, Self: uint64(self), Cluster: t.Cluster, Registry: t.Messages,
		Timeouts: t.Timeouts,
		Panics:   failure.NewPanics(t.Type, t.Log, t.Scheduler),
		Log:      t.Log, Scheduler: t.Scheduler,
		Users: newUserGate(t.Type), Ended: make(chan struct{}),
		Meters: newMeters(t.Meter, t.Type),
	}
	s := spans.New(t.Tracer, t.Type)
	r.Entities = entities.New(entities.Settings{
		Type: t.Type, Log: t.Log, Scheduler: t.Scheduler, Panics: r.Panics, Meter: t.Meter, Spans: s,
		Defects: t.Defects,
		Workers: t.Limits.Workers, WorkersMax: t.Limits.WorkersMax, HandlerSlow: t.Timeouts.HandlerSlow,
		Lease: t.Lease, ShardLeases: t.Leases.Shards != nil, MailboxMax: t.Limits.MailboxMax,
		MailboxBytes: uint32(t.Limits.MailboxBytes),
		Held:         mailbox.NewHeldBytes(int64(t.Limits.RegionBytes), t.NodeBytes),
		Supervisor:   t.Supervisor, Passivation: t.Passivation, Fail: r.Out.Fail,
	}, func() []*entities.Shard { return r.Routes.Shards() })
	r.Asks = asks.NewTable(t.Limits.AsksMax, t.Timeouts.Ask, r.Entities.Clock, t.Scheduler)
	r.Out.defects = t.Defects
	r.Drops = failure.NewDrops(t.Type, failure.GuardHook(r.Panics, "OnEvent", t.OnEvent))
	r.Drops.Defects = t.Defects
	r.Farewells.cluster, r.Farewells.asks = t.Cluster, r.Asks
	id := protocol.Identity{Name: t.Type, Role: t.Role}
	r.Standing.cluster, r.Standing.service, r.Standing.self = t.Cluster, id.Service(), r.Self
	r.Attached.drops, r.Attached.panics, r.Attached.Meter = r.Drops, r.Panics, t.Meter
	r.incoming.decoder = decoder{r.Registry, r.Panics, s != nil}
	r.incoming.arrivals.New = func() any { return newArrivals(r) }
	r.Out.self, r.Out.Net, r.Out.Channel, r.Out.reg, r.Out.known = r.Self, t.Network,
		ChannelOf(t.Type), r.Registry, t.Errors
	r.Out.readHeaders = t.ReadHeaders
	r.Out.asks, r.Out.drops, r.Out.panics, r.Out.clock = r.Asks, r.Drops, r.Panics, r.Entities.Clock
	r.Out.start(t.Timeouts.Ask, t.Scheduler)
	r.Routes = routes.New(routes.Settings{
		Self: r.Self, Shards: t.Shards, ShardOf: r.Panics.GuardShardFunc(t.ShardOf),
		CountMax: t.Limits.BufferMax, BytesMax: t.Limits.BufferBytes,
		Carrier: carrier{&r.Out, r.incoming.decoder}, Asks: r.Asks, PassesOnNothing: r.HasEnded, Spans: s,
		Defects: t.Defects,
	})
	r.Leases.Shards = r.Panics.GuardLeases("Leases.Shards", t.Leases.Shards)
	r.Leases.Coordinator = r.Panics.GuardLeases("Leases.Coordinator", t.Leases.Coordinator)
	r.Leases.Cluster, r.Leases.Owner = t.ClusterName, fmt.Sprintf("%v of %s", self, t.Addr)
	return r
}
