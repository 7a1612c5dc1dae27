package sharding

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Region is one entity type on one node. All methods may be called concurrently.
type Region[M any] struct {
	core *core
	run  *engine
}

// StartOn starts an entity type over ports of one's own. Start is the way for a ddata.Node.
func StartOn[M any](p Ports, t EntityType[M]) (*Region[M], error) {
	faults := t.faults()
	faults.add(p.State != nil && !p.Proxy && t.New == nil, "New is missing: this node has the role %q and hosts entities", t.Role)
	if err := faults.err(t.Name); err != nil {
		return nil, err
	}
	t = t.withDefaults()
	if p.Log == nil {
		p.Log = slog.Default()
	}
	reg := &Region[M]{core: newCore(p, t)}
	reg.core.newBody = reg.incarnate(t.New)
	run, err := newEngine(p, reg.core, controlSettings{
		machines: machineConfig(p, t), store: t.RememberStore, quorums: t.State, onEvent: guardHook(&reg.core.panics, "OnEvent", t.OnEvent),
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	reg.run = run
	run.start(p)
	return reg, nil
}

// incarnate is how an entity gets its body.
func (g *Region[M]) incarnate(make func(*Context[M]) Entity[M]) func(*entity) incarnation {
	return func(e *entity) incarnation {
		c := &Context[M]{e: e, r: g}
		if c.user = make(c); c.user == nil {
			panic("it has returned nil")
		}
		return body[M]{c}
	}
}

func machineConfig[M any](p Ports, t EntityType[M]) protocol.Config {
	return protocol.Config{
		Type: t.Name, Role: t.Role, Self: p.Cluster.UID(), Shards: t.Shards, Hash: t.Hash, Proxy: p.State == nil || p.Proxy, Remember: t.RememberEntities,
		Strategy: t.Strategy, MinRegions: t.MinRegions, RebalanceInterval: t.RebalanceInterval, RetryInterval: t.RetryInterval,
		StrategyTimeout: t.StrategyTimeout, RebalanceDelay: t.RebalanceDelay, RebalanceMixedVersions: t.RebalanceMixedVersions,
		RebalanceUnreachable: t.RebalanceUnreachable, RebalanceJoining: t.RebalanceJoining,
		BeginTimeout: t.BeginTimeout, HandOffTimeout: t.HandOffTimeout, StopTimeout: t.StopTimeout,
		PassivationTimeout: t.Passivation.StopTimeout,
		BufferMax:          t.BufferMax, RestartBackoff: t.EntityRestartBackoff, Recovery: t.Recovery, Turns: &protocol.Turns{},
		Lease: t.Lease != nil, CoordinatorLease: t.CoordinatorLease != nil, LeaseRetryInterval: t.LeaseRetryInterval,
		Predecessor: p.Predecessor, LeaseStore: storeID(t.Lease), CoordinatorLeaseStore: storeID(t.CoordinatorLease),
	}
}

func newCore[M any](p Ports, t EntityType[M]) *core {
	r := &core{
		name: t.Name, role: t.Role, proxy: p.State == nil || p.Proxy, self: uint64(p.Cluster.UID()), cluster: p.Cluster, reg: t.Messages.reg,
		queryTimeout: t.QueryTimeout,
		routes:       newRoutes(t.Shards, t.Hash), asks: newAsks(t.AsksMax),
		pool: newPool(t.Workers, t.WorkersMax), log: p.Log,
		mailboxMax: t.MailboxMax, mailboxBytes: uint32(t.MailboxBytes), askTimeout: t.AskTimeout,
		start: time.Now(), closed: make(chan struct{}), ended: make(chan struct{}), meters: newMeters(p.Meter, t.Name),
	}
	r.standing.cluster, r.standing.role, r.standing.self = p.Cluster, t.Role, r.self
	r.attached.drops, r.attached.panics = &r.drops, &r.panics
	r.out.self, r.out.net, r.out.channel, r.out.reg, r.out.errors = r.self, p.Network, channelOf(t.Name), r.reg, t.Errors
	r.out.asks, r.out.drops, r.out.panics, r.out.clock = r.asks, &r.drops, &r.panics, r.clock
	r.out.start(t.AskTimeout)
	r.decoder = decoder{r.reg, &r.panics}
	r.routes.self, r.routes.out, r.routes.asks, r.routes.decoder, r.routes.ended = r.self, &r.out, r.asks, r.decoder, r.ended
	r.panics.typ, r.panics.log = t.Name, p.Log
	r.lease.node, r.lease.pool, r.lease.scan = p.Lease, r.pool, &r.idleScan
	if hook := guardHook(&r.panics, "OnDrop", t.OnDrop); hook != nil {
		r.drops.hook = func(reason DropReason, shard int, id string, msg any) {
			hook(Drop{Type: t.Name, ID: id, Shard: shard, Reason: reason, Message: msg})
		}
	}
	r.supervisor = supervisor{
		typ: t.Name, log: p.Log, policy: policies[t.Supervision], backoff: t.RestartBackoff, backoffMax: t.RestartBackoffMax,
	}
	if hook := guardHook(&r.panics, "OnFailure", t.OnFailure); hook != nil {
		r.supervisor.onFailure = func(id string, err error, stack []byte, done policy) {
			hook(Failure{Type: t.Name, ID: id, Err: err, Stack: stack, Outcome: supervisionOf(done)})
		}
	}
	r.leases.shards, r.leases.coordinator = r.panics.guardLeases("Lease", t.Lease), r.panics.guardLeases("CoordinatorLease", t.CoordinatorLease)
	r.leases.cluster = p.ClusterName
	r.leases.owner = fmt.Sprintf("%v of %s", p.Cluster.UID(), p.Addr)
	r.held.max, r.held.node = int64(t.RegionBytes), p.mailboxes
	r.routes.limit.countMax, r.routes.limit.bytesMax = int64(t.BufferMax), int64(t.BufferBytes)
	r.slow.pool, r.slow.clock = r.pool, r.clock
	r.slow.note = func(e protocol.Event) { r.ctl.note(e) }
	r.slow.watch(t.HandlerSlowAfter)
	r.idleScan.asks, r.idleScan.lease, r.idleScan.slow, r.idleScan.clock = r.asks, &r.lease, &r.slow, r.clock
	r.idleScan.idleBy(t.Passivation)
	r.passivations.start(t.Passivation)
	return r
}

// Tell sends a message to an entity: a nil error says that it is on its way, not that it was
// handled. Outside a handler Tell waits for room, until ctx ends; inside (ctx from Context.Context)
// it fails with ErrBufferFull instead.
//
// Only what goes to another node is encoded, so only there a message can be too large: the same one
// may be accepted for an entity on this node, and be refused, or dropped with DropTooLarge from a
// buffer, when the entity has moved. Keep messages below transport.DefaultMessageMax wherever they
// go.
//
// Errors: ErrInvalidID, ErrUnregisteredMessage, ErrEncoding, ErrMessageTooLarge, ErrBufferFull,
// ErrStopped, ErrNoLease (inside a handler), ctx's.
func (g *Region[M]) Tell(ctx context.Context, id string, msg M) error {
	if h := handlerOf(ctx); h != nil && !h.holds(g.core) {
		return ErrNoLease
	}
	return g.core.send(ctx, id, envelope{msg: msg})
}

// Ref is the address of an entity. An invalid id is reported by its use.
func (g *Region[M]) Ref(id string) *EntityRef[M] {
	f := &EntityRef[M]{region: g, id: id, err: checkID(id)}
	if f.err == nil {
		f.number = g.core.routes.shardOf(id)
	}
	return f
}

// Passivate asks for the end of an entity's incarnation, wherever it lives, and for a remembered
// entity to be forgotten. What its mailbox holds is handled first.
func (g *Region[M]) Passivate(ctx context.Context, id string) error {
	return g.core.send(ctx, id, envelope{msg: codec.Passivate{}})
}

// SetActiveEntityLimit changes the limit on entities that are active in this region of the type. It
// holds soon after, until the region ends. The type must have started with an ActiveEntityLimit.
//
// Errors: ErrConfig.
func (g *Region[M]) SetActiveEntityLimit(n int) error {
	r := g.core
	if !r.passivations.strategy.Limited() {
		return fmt.Errorf("%w %q: its Passivation has no ActiveEntityLimit to change, or its entities are remembered", ErrConfig, r.name)
	}
	if n < 1 || n > passivation.LimitMax {
		return fmt.Errorf("%w %q: ActiveEntityLimit is %d, want 1 to %d", ErrConfig, r.name, n, passivation.LimitMax)
	}
	r.passivations.limit.Store(int64(n))
	r.ctl.reshare()
	return nil
}

// StartEntity starts an entity without a message and returns where it runs, once its start is
// ordered and, if the type remembers entities, its id is remembered. It does not wait for New: a
// failure of that goes to EntityType.OnFailure.
func (g *Region[M]) StartEntity(ctx context.Context, id string) (Location, error) {
	r := g.core
	node, err := r.startEntity(ctx, id)
	if err != nil {
		return Location{}, err
	}
	loc := Location{Shard: int(r.routes.shardOf(id)), Node: membership.UID(node), Active: true}
	if v := r.cluster.View(); v != nil {
		m, _ := v.Member(loc.Node)
		loc.Addr = m.Addr
	}
	return loc, nil
}

// Locate says on which node the entity's shard lives, as far as this region knows; ok is false
// while the home is unknown or moving.
func (g *Region[M]) Locate(id string) (home membership.UID, ok bool) {
	rt := g.core.routes.slots[g.core.routes.shardOf(id)].Load()
	switch {
	case rt == nil || rt.buffer != nil:
		return 0, false
	case rt.local != nil:
		return membership.UID(g.core.self), true
	}
	return membership.UID(rt.remote), true
}

// Name is the entity type's name.
func (g *Region[M]) Name() string { return g.core.name }

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
// DropStopped: it may be what the node's own users have told last.
//
// If no other node can take the shards, their entities stop, and what others send to them waits
// until one can. The node goes on to take its turn as the type's coordinator. A region of StartOn
// is stopped at once, as by a crash.
func (g *Region[M]) Close(ctx context.Context) error { return g.run.close(ctx) }

// ShardOf is the shard of an entity id in a type of so many shards by HashXX: the 64-bit xxHash of
// its bytes, modulo their number. It never changes.
func ShardOf(id string, shards int) int { return int(protocol.ShardOf(protocol.EntityID(id), shards)) }
