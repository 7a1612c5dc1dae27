package entities

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/pool"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Settings are what a Runtime is made of.
type Settings struct {
	Type      string
	Log       *slog.Logger
	Scheduler scheduler.Scheduler
	Panics    *failure.Panics
	Meter     events.Meter // nil: there is none
	Spans     *spans.Spans // nil: nothing is traced
	Defects   defect.Set   // planted by a test

	Workers, WorkersMax int
	HandlerSlow         time.Duration // a handler that runs for longer is told of; negative: none is
	Lease               host.Lease    // of the node
	ShardLeases         bool          // each shard has a lease of its own
	MailboxMax          int           // messages in one mailbox
	MailboxBytes        uint32        // of other nodes' messages, in one mailbox
	Held                *mailbox.HeldBytes
	Supervisor          Supervisor
	Passivation         passivation.Strategy

	// Fail answers the question that an envelope is, if it is one, with an error of a handler.
	Fail func(mailbox.Envelope, error)
}

// Control is what entities and their shards tell the control plane. Its methods do not wait.
type Control interface {
	Wake(s *Shard, id string)                                     // a message waits for an entity that is not active
	Passivate(*Shard, string, protocol.Cause, runloop.Permit)     // the entity shall stop and be forgotten
	EntityStopped(s *Shard, id string)                            // its incarnation is over
	StartEntity(*Shard, string, mailbox.Envelope, runloop.Permit) // it shall run; env is answered when it does
	Note(e protocol.Event)                                        // something worth an event
}

// Runtime is what the shards of one type on one node share. It runs their entities.
type Runtime struct {
	set     Settings
	began   time.Time // of the region's clock
	seed    uint64    // of the hashes by which shards find entities
	control Control

	Pool         Pool
	Slow         SlowWatch
	Waits        *waits // entities held for results
	Lease        *lease.Node
	Held         *mailbox.HeldBytes
	supervisor   Supervisor
	NewBody      func(e *Entity) Incarnation
	Passivations Passivations
	IdleScan     *idleScan
	Meters       *Meters       // nil: there is no Meter
	Spans        *spans.Spans  // nil: nothing is traced
	Restored     atomic.Uint64 // entities started because they are remembered
	Measures     bool          // what shards do is measured
}

// Pool is a pool.Pool of entities. It is an interface for the reason that runloop.Loop is one.
type Pool interface {
	Submit(e *Entity)
	Block()
	Unblock()
	Go(fn func())
	Queued() int
	Workers() int
	Each(fn func(*Entity))
	Drain(ctx context.Context) error
}

// SlowWatch is a pool.Watch of entities, likewise.
type SlowWatch interface {
	Start()
	Stop()
	Slow() int
	Running(e *Entity) string
	AllRunning() string
}

// New makes a runtime, whose idle entities are looked for in the shards. It needs NewBody
// and SteeredBy before it is used.
func New(t Settings, shards func() []*Shard) *Runtime {
	workers := pool.New[*Entity](t.Workers, t.WorkersMax, t.Scheduler, t.Defects)
	r := &Runtime{
		set: t, began: t.Scheduler.Now(), seed: t.Scheduler.Uint64(), Held: t.Held,
		Pool:   workers,
		Lease:  lease.NewNode(t.Lease, t.Scheduler),
		Meters: newMeters(t.Meter, t.Type), Spans: t.Spans,
	}
	r.supervisor = t.Supervisor.guarded(t.Type, t.Log, r.Clock, t.Panics)
	r.Slow = pool.NewWatch(workers, t.Scheduler, pool.WatchSettings[*Entity]{
		After: t.HandlerSlow, Note: r.noteSlow, Where: handlerIn,
	})
	r.Waits = newWaits(r.Clock, t.Scheduler, t.HandlerSlow)
	r.IdleScan = newIdleScan(t.Passivation, shards, t.Scheduler)
	r.Passivations.start(t.Passivation)
	return r
}

// SteeredBy says which control plane hears of what happens here.
func (r *Runtime) SteeredBy(c Control) { r.control, r.Waits.note = c, c.Note }

// StartScans begins to look for idle entities, and for handlers that do not return.
func (r *Runtime) StartScans() {
	r.IdleScan.start()
	r.Slow.Start()
}

// StopScans ends all that is looked for now and then: the return of the node's lease, too.
func (r *Runtime) StopScans() {
	r.Lease.Stop()
	r.IdleScan.stop()
	r.Slow.Stop()
	r.Waits.stop()
}

// Clock is the time since the runtime was made.
func (r *Runtime) Clock() time.Duration { return r.set.Scheduler.Since(r.began) }

// HashOf is the hash by which shards find the entity of an id. No peer can choose ids that share one.
func (r *Runtime) HashOf(id []byte) uint64 { return xxh3.HashSeed(id, r.seed) }
