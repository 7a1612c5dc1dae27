package ddata

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/requests"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Replicator is this node's replica of the users' data of one role. Its methods, and the functions Get,
// Update, Delete and Watch, may be called from any goroutine.
//
// Values that were handed out never change. A local Get of a value that does not change at that
// moment takes no lock and asks no other goroutine.
// Extensions have one of the reserved data (keyspace.Dataset), by host.Host.Data.
type Replicator struct {
	n    *Node
	set  keyspace.Dataset
	ch   transport.Channel
	loop runloop.Loop[request]

	admission *runloop.Admission // of the messages of others
	decoding  sync.WaitGroup     // of messages that came in parts

	// published snapshots: a local read whose snapshot is of the present version needs no step of
	// the machine.
	version atomic.Uint64 // of the machine's content; written by the loop's goroutine
	snaps   atomic.Pointer[published]

	requests   *requests.Requests
	waiters    waiters               // of callers
	number     atomic.Uint64         // of the last operation or subscription
	storeFault atomic.Pointer[error] // of the last commit; nil when it succeeded

	goneMu sync.Mutex
	gone   []*ticket // of callers that have gone

	h *replicaHost
}

// published is the state of both spaces at one version.
type published struct {
	version uint64
	routes  *keyspace.Routes
	snaps   [2]*crdt.Snapshot // by space
}

// of returns the state of the space in which a key lives.
func (p *published) of(key string) *crdt.Snapshot { return p.snaps[p.routes.SpaceOf(key)] }

// request is one input, with the caller that waits for its result.
type request struct {
	in    replicator.Input
	peer  crdt.Origin         // that has sent msg, instead of in
	msg   wire.Message        // nil: it could not be decoded
	from  runloop.Permit      // of another node's message
	id    uint64              // of an operation, by Replicator.number
	level quorum.Level        // of it
	done  func(effect.Result) // of Update, Delete, Get
	call  *ticket             // of a request that can be withdrawn
	do    func(*replicaHost)  // runs on the loop's goroutine instead of a step
}

func newReplicator(n *Node, set keyspace.Dataset) (*Replicator, error) {
	cfg := n.cfg.replication(set)
	cfg.Self = crdt.Origin(n.uid)
	h := &replicaHost{n: n, set: set, subs: map[uint64]*subscription{}}
	var loaded replicator.Loaded
	if n.disk != nil {
		cfg.Disk = uint64(n.disk.ID())
	}
	if n.Durable() {
		var err error
		if h.table, loaded, err = n.disk.Load(set); err != nil {
			return nil, n.disk.Damaged(set, err)
		}
	}
	m, err := replicator.New(cfg, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), loaded)
	if loaded.Clock != nil && err != nil {
		return nil, n.disk.Damaged(set, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ddata: %v: %w", set, err)
	}
	r := &Replicator{
		n: n, set: set, requests: requests.New(n.cfg.Meter, n.cfg.Tracer, set), admission: newAdmission(n),
		ch: transport.ChannelOf(set.Channel()), h: h,
	}
	h.d, h.r = drivers.NewReplica(m, h), r
	r.loop = runloop.New(scheduler.Goroutines{}, h, inboxMax)
	r.loop.WhenBroken(func(b runloop.Broken) { n.broken("replicator of the "+set.String(), b, m) })
	return r, nil
}

// Role is the role whose data this is.
func (r *Replicator) Role() string { return r.set.Role }

// Stats returns the counters of this replica since the node was started. It waits for the replica's
// goroutine, and does not disturb it otherwise.
func (r *Replicator) Stats() effect.Stats {
	st, _ := look(context.Background(), r, (*replicator.Machine).Stats)
	return st
}

// Figures says what a node's replica of a dataset holds, and how far the others are. It waits as Stats does,
// until ctx ends; ErrUnknownRole when the node does not have the role.
func Figures(ctx context.Context, n *Node, set keyspace.Dataset) (f effect.Figures, err error) {
	r, err := replicaOf(n, set)
	if err != nil {
		return f, err
	}
	return look(ctx, r, (*replicator.Machine).Figures)
}

// look asks the machine on its goroutine.
func look[T any](ctx context.Context, r *Replicator, ask func(*replicator.Machine) T) (x T, err error) {
	got := make(chan T, 1)
	r.loop.Force(request{do: func(h *replicaHost) { got <- ask(driverOf(h).Machine()) }})
	select {
	case x = <-got:
		return x, nil
	case <-r.loop.Stopped():
		return ask(driverOf(r.h).Machine()), nil // the loop has ended: nothing steps it any more
	case <-ctx.Done():
		return x, context.Cause(ctx)
	}
}

// Node is the node that this replica belongs to.
func (r *Replicator) Node() *Node { return r.n }

// Replicator returns this node's replica of a role's data; ErrUnknownRole when the node does not
// have the role.
func (n *Node) Replicator(role string) (*Replicator, error) {
	return replicaOf(n, keyspace.Dataset{Role: role})
}

func replicaOf(n *Node, set keyspace.Dataset) (*Replicator, error) {
	if r, ok := n.replicas[set]; ok {
		return r, nil
	}
	return nil, fmt.Errorf("%w %q; its roles are %q", ErrUnknownRole, set.Role, n.cfg.Roles)
}

func (r *Replicator) start() {
	r.n.net.Handle(r.ch, transport.HandlerFunc(r.receive))
	r.loop.Start()
}

// stop ends the loop and answers every caller that still waits.
func (r *Replicator) stop() {
	r.loop.Stop()
	r.decoding.Wait()
	closed := effect.Result{Err: r.refusal()}
	driverOf(r.h).Fail(closed)
	for _, q := range r.loop.Rest() {
		if q.done != nil {
			q.done(closed)
		}
	}
}

func (r *Replicator) receive(from transport.NodeID, payload []byte) {
	place, ok := r.admission.Admit(uint64(from), len(payload))
	if !ok {
		return
	}
	msg, err := wire.Decode(payload)
	if err != nil {
		r.malformed(crdt.Origin(from), err)
	}
	r.loop.Force(request{peer: crdt.Origin(from), msg: msg, from: place})
}

// malformed tells of a message that was not decoded. The machine counts it: it gets none instead.
func (r *Replicator) malformed(from crdt.Origin, err error) {
	r.n.reports.emit(events.MessageMalformed{What: "replicator", Peer: view.UID(from), Err: err})
}

func (r *Replicator) install(v *view.View, clean view.UID) {
	r.loop.Force(request{in: replicator.Install{View: drivers.ViewOf(v, r.set.Role, r.n.Durable(), clean)}})
}

func (r *Replicator) reachable(uid view.UID, yes bool) {
	r.loop.Force(request{in: replicator.Reachable{Origin: crdt.Origin(uid), Is: yes}})
}

// checkKey returns an error if a dataset can have no such key.
func checkKey(of keyspace.Dataset, key string) error {
	if err := crdt.CheckKey(key); err != nil {
		return err
	}
	return keyspace.CheckKey(key, of.Reserved)
}

// refusal says why an input was not taken.
func (r *Replicator) refusal() error {
	if err := r.n.life.why(); err != nil {
		return err
	}
	return operation.ErrOverloaded
}

// local reads a key of the present state, without the machine if nothing has changed since the last
// snapshot.
func (r *Replicator) local(ctx context.Context, key string) (crdt.Reader, error) {
	if r.n.life.over.Load() {
		return crdt.Reader{}, r.wrap("get", key, quorum.Local, r.refusal())
	}
	if err := ctx.Err(); err != nil {
		return crdt.Reader{}, r.wrap("get", key, quorum.Local, err)
	}
	if p := r.snaps.Load(); p != nil && p.version == r.version.Load() {
		v := p.of(key).View(key)
		switch {
		case v.Key() == "": // it holds nothing, and may not be able to
			return v, r.wrap("get", key, quorum.Local, checkKey(r.set, key))
		case v.Deleted():
			return crdt.Reader{}, r.wrap("get", key, quorum.Local, crdt.ErrDeleted)
		}
		return v, nil
	}
	if err := checkKey(r.set, key); err != nil {
		return crdt.Reader{}, r.wrap("get", key, quorum.Local, err)
	}
	res := r.call(ctx, nil, quorum.Local, nil, nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.Get{ID: id, Key: key, Read: quorum.Local, Timeout: timeout}
		})
	if res.Err == nil {
		r.loop.Post(request{do: (*replicaHost).publish})
	}
	return res.Reader, r.wrap("get", key, quorum.Local, res.Err)
}

// publish makes a snapshot for local reads. It is called only after a goroutine read: a store that
// is only written pays nothing for it.
func (h *replicaHost) publish() {
	r := h.r
	if p, v := r.snaps.Load(), r.version.Load(); p == nil || p.version != v {
		r.snaps.Store(h.state(v))
	}
}

// state returns the present state.
func (h *replicaHost) state(version uint64) *published {
	m := driverOf(h).Machine()
	return &published{
		version: version, routes: m.Routes(), snaps: [2]*crdt.Snapshot{
			m.Snapshot(keyspace.Volatile), m.Snapshot(keyspace.Durable),
		},
	}
}

// replicaHost is the host of the driver of a Replicator's machine, on its loop. Its fields belong
// to the loop's goroutine.
type replicaHost struct {
	n     *Node
	r     *Replicator
	set   keyspace.Dataset
	d     any           // a *drivers.Replica, see driverOf
	table durable.Table // nil without a directory
	subs  map[uint64]*subscription
	// outdated: the disk has missed a retirement. The node ends, and nothing is stepped any more.
	outdated bool

	stats latest[effect.Stats]
}

// driverOf returns the driver of a replica. A compiler that compiles a user of Node reads all types that this leads to,
// and compiles all generic ones among them anew. So what is built of many, as machines are, is not to be seen.
func driverOf(h *replicaHost) *drivers.Replica { return h.d.(*drivers.Replica) }

var (
	_ runloop.Machine[request] = (*replicaHost)(nil)
	_ drivers.ReplicaHost      = (*replicaHost)(nil)
)

// Step implements runloop.Machine.
func (h *replicaHost) Step(now time.Time, q request) {
	q.from.Release()
	switch {
	case q.do != nil:
		q.do(h)
	case h.outdated:
		if q.done != nil {
			q.done(effect.Result{Err: h.r.refusal()})
		}
	case q.call != nil && q.call.gone:
		q.done(effect.Result{Err: operation.ErrCancelled})
	case q.done != nil:
		var traced context.Context
		if q.call != nil {
			q.call.id, traced = q.id, q.call.traced
		}
		driverOf(h).Call(now, q.id, q.in, q.done, h.r.requests.Took(traced, q.in, q.level))
	case q.peer != 0:
		driverOf(h).Receive(now, q.peer, q.msg)
	default:
		driverOf(h).Step(now, q.in)
	}
}

// Flush implements runloop.Machine.
func (h *replicaHost) Flush() {
	if h.r.requests.Timed() {
		h.stats.store(driverOf(h).Machine().Stats())
	}
}

// Deadline implements runloop.Machine.
func (h *replicaHost) Deadline() time.Time {
	if h.outdated {
		return time.Time{}
	}
	return driverOf(h).Machine().Deadline()
}

// Tick implements runloop.Machine.
func (h *replicaHost) Tick() request { return request{in: replicator.Tick{}} }

// Changed implements drivers.ReplicaHost.
func (h *replicaHost) Changed() { h.r.version.Add(1) }

// HoldsLease implements drivers.ReplicaHost.
func (h *replicaHost) HoldsLease() bool { return h.n.HoldsLease() }

// Notify implements drivers.ReplicaHost.
func (h *replicaHost) Notify(c effect.Change) {
	if s := h.subs[c.Sub]; s != nil {
		s.offer(c)
	}
}

// Reached implements drivers.ReplicaHost.
func (h *replicaHost) Reached(caughtUp bool, settled view.Epoch) {
	h.n.progress.reached(h.set, caughtUp, settled)
	h.n.maybeUp()
}

// Moved implements drivers.ReplicaHost.
func (h *replicaHost) Moved(number uint16) { h.n.progress.moved(h.set, number) }

// Decode implements drivers.ReplicaHost. The loop does not wait for it: that may take milliseconds.
func (h *replicaHost) Decode(w effect.Whole) {
	h.r.decoding.Go(func() {
		msg, err := wire.DecodeWhole(w.Data)
		if err != nil {
			h.r.malformed(w.From, err)
		}
		h.r.loop.Force(request{in: replicator.Decoded{From: w.From, Flow: w.Flow, Msg: msg}})
	})
}

// Commit implements drivers.ReplicaHost.
func (h *replicaHost) Commit(b storage.Batch) {
	done := func(err error) {
		h.r.storeFault.Store(nil)
		if err != nil {
			h.r.storeFault.Store(&err)
			h.n.reports.emit(events.StoreFailed{Dataset: h.set, Err: err})
		}
		h.r.loop.Force(request{in: replicator.Persisted{ID: b.ID, Err: err}})
	}
	if h.table == nil {
		done(errors.New("ddata: durable key, but the node has no Config.Dir"))
		return
	}
	h.table.Commit(rows.Of(b), done)
}

// Send implements drivers.ReplicaHost.
func (h *replicaHost) Send(e effect.Envelope, payload []byte) {
	lane := transport.Control
	if e.Lane == effect.Bulk {
		lane = transport.Bulk
	}
	if err := h.n.net.Send(transport.NodeID(e.To), lane, 0, h.r.ch, payload); err != nil {
		h.n.reports.emit(events.MessageUnsent{What: "replicator", To: e.String(), Err: err})
	}
}
