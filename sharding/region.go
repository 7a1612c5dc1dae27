package sharding

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Region is one entity type on one node. All methods may be called concurrently.
type Region[M any] struct {
	plane *dataplane.Plane
	run   *engine
}

// StartOn starts an entity type over ports of one's own. Start is the way for a ddata.Node.
func StartOn[M any](p Ports, t EntityType[M]) (*Region[M], error) {
	faults := t.faults(p.Local)
	faults.Add(p.State != nil && !p.Proxy && t.New == nil,
		"New", "is missing: this node has the role %q and hosts entities", t.Role)
	if err := configError(t.Name, faults); err != nil {
		return nil, err
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	if p.Scheduler == nil {
		p.Scheduler = scheduler.Goroutines{}
	}
	machines := t.machines(p)
	if p.probe != nil {
		machines.Plant(p.probe.Defects)
	}
	reg := &Region[M]{plane: dataplane.New(planeSettings(p, t, machines))}
	reg.plane.Entities.NewBody = reg.incarnate(t.New)
	machines.ShardOf = reg.plane.Routes.ShardFunc() // what it panics at is survived
	run, err := newEngine(p, reg.plane, control.Settings{
		Probe:    p.probe,
		Machines: machines, Store: t.Remember.Store, Ledger: t.Coordination.Ledger, Quorums: t.Quorums,
		Reminders: t.Reminders, Meter: p.Meter,
		OnEvent: failure.GuardHook(reg.plane.Panics, "OnEvent", t.OnEvent),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	reg.run = run
	run.start(p)
	return reg, nil
}

// incarnate is how an entity gets its body.
func (g *Region[M]) incarnate(make func(*Context[M]) Entity[M]) func(*entities.Entity) entities.Incarnation {
	return func(e *entities.Entity) entities.Incarnation {
		c := newContext(g, e)
		defer func() {
			if c.user == nil {
				c.handler.End()
			}
		}()
		if c.user = make(c); c.user == nil {
			panic("it has returned nil")
		}
		return body[M]{c}
	}
}

// planeSettings are what the data plane needs to know of a type.
func planeSettings[M any](p Ports, t EntityType[M], m protocol.Config) dataplane.Settings {
	x := dataplane.Settings{
		Type: m.Name, Role: m.Role, Proxy: m.Proxy, Shards: m.Shards, ShardOf: m.ShardOf,
		Cluster: p.Cluster, ClusterName: p.ClusterName, Addr: p.Addr, Lease: p.Lease, Network: p.Network, Log: p.Log,
		Scheduler: p.Scheduler, Meter: p.Meter, Tracer: p.Tracer, ReadHeaders: p.ReadHeaders,
		Messages: t.Messages.reg, Errors: t.Errors, OnEvent: t.OnEvent,
		Timeouts: t.Timeouts, Passivation: m.Passivation.Strategy, Supervisor: t.supervisor(),
		Leases: t.Leases, Limits: t.Limits, NodeBytes: p.mailboxes,
	}
	if p.probe != nil {
		x.Defects = p.probe.Defects
	}
	return x
}

// Stats counts. It looks at every hosted shard, so call it now and then.
func (g *Region[M]) Stats() Stats { return dataplane.CountStats(g.plane) }

// Tell sends a message to an entity: a nil error says that it is on its way, not that it was
// handled. Outside a handler Tell waits for room, until ctx ends. Inside a handler, whose Context is
// ctx or what ctx is derived from, it fails with ErrBufferFull instead.
//
// Only what goes to another node is encoded, so only there a message can be too large: the same one
// may be accepted for an entity on this node, and be refused, or dropped with DropTooLarge from a
// buffer, when the entity has moved. Keep messages below transport.DefaultMessageMax wherever they
// go.
//
// Errors: ErrInvalidID, ErrUnregisteredMessage, ErrEncoding, ErrMessageTooLarge, ErrBufferFull,
// ErrStopped, ErrNoLease (inside a handler), ctx's.
func (g *Region[M]) Tell(ctx context.Context, id string, msg M) error {
	if h := entities.HandlerOf(ctx); h != nil && !h.Holds(g.plane.Entities) {
		return ErrNoLease
	}
	return g.plane.Tell(ctx, ctx, id, msg)
}

// Ref is the address of an entity. An invalid id is reported by its use.
func (g *Region[M]) Ref(id string) *EntityRef[M] {
	f := &EntityRef[M]{region: g}
	g.plane.AddressTo(&f.to, id)
	return f
}

// Passivate asks for the end of an entity's incarnation, wherever it lives, and for a remembered
// entity to be forgotten. What its mailbox holds is handled first. The request travels as a message
// does, so it gives a shard without a home one. It returns when the request is on its way. A remembered
// entity is forgotten when that is written, a little after its end: if its node crashes before, the entity
// starts again. A node that leaves waits for it.
func (g *Region[M]) Passivate(ctx context.Context, id string) error {
	return passivate(ctx, g.plane, id)
}

func passivate(ctx context.Context, r *dataplane.Plane, id string) error {
	return r.Send(ctx, id, mailbox.Envelope{Msg: codec.Passivate{}})
}

// SetActiveEntityLimit changes the limit on entities that are active in this region of the type. It
// holds soon after, until the region ends. The type must have started with an ActiveEntityLimit.
//
// Errors: ErrConfig.
func (g *Region[M]) SetActiveEntityLimit(n int) error { return limitActive(g.plane, n) }

func limitActive(r *dataplane.Plane, n int) error {
	if !r.Entities.Passivations.Strategy.Limited() {
		return fmt.Errorf("%w %q: its Passivation has no ActiveEntityLimit to change, or its entities are remembered",
			ErrConfig, r.Name)
	}
	if n < 1 || n > passivation.LimitMax {
		return fmt.Errorf("%w %q: ActiveEntityLimit is %d, want 1 to %d", ErrConfig, r.Name, n, passivation.LimitMax)
	}
	r.Entities.Passivations.Limit.Store(int64(n))
	r.Ctl.Reshare()
	return nil
}

// StartEntity starts an entity without a message and returns where it runs, once its start is
// ordered and, if the type remembers entities, its id is remembered. It does not wait for New: a
// failure of that goes to EntityType.OnEvent.
func (g *Region[M]) StartEntity(ctx context.Context, id string) (Location, error) {
	r := g.plane
	node, err := r.StartEntity(ctx, id)
	if err != nil {
		return Location{}, err
	}
	loc := Location{Shard: ShardID(r.Routes.ShardOf(id)), Node: view.UID(node), Active: true}
	if v := r.Cluster.View(); v != nil {
		m, _ := v.Member(loc.Node)
		loc.Addr = m.Addr
	}
	return loc, nil
}

// Coordinator is the member whose coordinator gives the type's shards their homes, as this region knows;
// 0: there is none yet.
func (g *Region[M]) Coordinator() view.UID { return g.plane.Standing.Coordinator() }

// Name is the entity type's name.
func (g *Region[M]) Name() string { return g.plane.Name }

// Close closes the region for its users while its node stays a member: it hands its shards over as
// Node.Leave does, as long as ctx allows, and stops by force what is left then: what waits for
// entities is dropped, and their handlers are cancelled. If these do not return, that is the error;
// their shards go to others when they have. Of several Close each has the time of its own ctx, and
// what the shortest stops by force is stopped for all. From then on the region refuses its users
// with ErrStopped, and Start may start the type there again. Messages that others have sent to a
// region which was stopped by force are dropped or, if the type was started again, may be overtaken
// by later ones.
//
// What still waits for a home in a closed region when the type is started again is dropped with
// DropStopped: it may be what the node's own users have told last. So is what waits in a region
// that no coordinator knows yet, as soon as it is closed.
//
// If no other node can take the shards, their entities stop, and what others send to them waits
// until one can. The node goes on to take its turn as the type's coordinator. A region of StartOn
// is stopped at once, as by a crash.
func (g *Region[M]) Close(ctx context.Context) error { return g.run.close(ctx) }

// ShardOf is the shard of an entity id in a type of so many shards by XXHash: the 64-bit xxHash of
// its bytes, modulo their number. It never changes.
func ShardOf(id string, shards int) ShardID { return protocol.ShardOf(protocol.EntityID(id), shards) }
