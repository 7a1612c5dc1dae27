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
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Replicator is this node's replica of the data of one role. Its methods, and the functions Get,
// Update, Delete and Subscribe, may be called from any goroutine.
//
// Values that were handed out never change. A local Get of a value that does not change at that
// moment takes no lock and asks no other goroutine.
type Replicator struct {
	n    *Node
	role string
	ch   transport.Channel
	loop *runloop.Loop[request]

	admission *runloop.Admission // of the messages of others

	// published snapshots: a local read whose snapshot is of the present version needs no step of
	// the machine.
	version atomic.Uint64 // of the machine's content; written by the loop's goroutine
	snaps   atomic.Pointer[published]

	waiters    waiters               // of callers
	number     atomic.Uint64         // of the last operation or subscription
	storeFault atomic.Pointer[error] // of the last commit; nil when it succeeded

	goneMu sync.Mutex
	gone   []*ticket // of callers that have gone

	d *replicaDriver
}

// published is the state of both spaces at one version.
type published struct {
	version uint64
	routes  *replicator.Routes
	snaps   [2]*crdt.Snapshot // by space
}

// of returns the state of the space in which a key lives.
func (p *published) of(key string) *crdt.Snapshot { return p.snaps[p.routes.SpaceOf(key)] }

// request is one input, with the caller that waits for its result.
type request struct {
	in    replicator.Input
	from  runloop.Permit          // of another node's message
	id    uint64                  // of an operation, by Replicator.number
	level Level                   // of it
	done  func(replicator.Result) // of Update, Delete, Get
	call  *ticket                 // of a request that can be withdrawn
	do    func(*replicaDriver)    // runs on the loop's goroutine instead of a step
}

func newReplicator(n *Node, role string) (*Replicator, error) {
	cfg := n.cfg.replication()
	cfg.Self = crdt.Origin(n.uid)
	d := &replicaDriver{n: n, role: role, times: newTimes(n.cfg.Meter, role), waiting: map[uint64]pending{}, subs: map[uint64]*subscription{}}
	var loaded replicator.Loaded
	if n.disk != nil {
		cfg.Disk = uint64(n.disk.id())
	}
	if n.Durable() {
		var err error
		if d.table, loaded, err = n.disk.load(role); err != nil {
			return nil, n.disk.damaged(role, err)
		}
	}
	m, err := replicator.New(cfg, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), loaded)
	if loaded.Clock != nil && err != nil {
		return nil, n.disk.damaged(role, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ddata: role %q: %w", role, err)
	}
	r := &Replicator{n: n, role: role, admission: newAdmission(n), ch: transport.ChannelOf("replicator/" + role), d: d}
	d.m, d.r = m, r
	r.loop = runloop.New(d, inboxMax)
	r.loop.WhenBroken(func(b runloop.Broken) { n.broken("replicator of role "+role, b, m) })
	return r, nil
}

// Role is the role whose data this is.
func (r *Replicator) Role() string { return r.role }

// Stats returns the counters of this replica since the node was started. It waits for the replica's
// goroutine, and does not disturb it otherwise.
func (r *Replicator) Stats() replicator.Stats {
	got := make(chan replicator.Stats, 1)
	r.loop.Force(request{do: func(d *replicaDriver) { got <- d.m.Stats() }})
	select {
	case st := <-got:
		return st
	case <-r.loop.Stopped():
		return r.d.m.Stats() // the loop has ended: nothing steps it any more
	}
}

// Node is the node that this replica belongs to.
func (r *Replicator) Node() *Node { return r.n }

// Replicator returns this node's replica of a role's data; ErrUnknownRole when the node does not
// have the role.
func (n *Node) Replicator(role string) (*Replicator, error) {
	if r, ok := n.replicas[role]; ok {
		return r, nil
	}
	return nil, fmt.Errorf("%w %q; its roles are %q", ErrUnknownRole, role, n.cfg.Roles)
}

func (r *Replicator) start() {
	r.n.net.Handle(r.ch, transport.HandlerFunc(r.receive))
	r.loop.Start()
}

// stop ends the loop and answers every caller that still waits.
func (r *Replicator) stop() {
	r.loop.Stop()
	closed := replicator.Result{Err: r.refusal()}
	for _, p := range r.d.waiting {
		p.done(closed)
	}
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
	msg, err := replicator.DecodeMessage(payload)
	if err != nil {
		r.n.reports.emit(events.MessageMalformed{What: "replicator", Peer: membership.UID(from), Err: err})
		msg = nil // the machine counts it
	}
	r.loop.Force(request{in: replicator.Receive{From: crdt.Origin(from), Msg: msg}, from: place})
}

func (r *Replicator) install(v *membership.View) {
	view := replicator.View{Epoch: uint64(v.Epoch), Founded: v.Founded}
	if r.n.Durable() { // else durability is switched off on all nodes, whatever was agreed on before
		view.Durable, view.Moving, view.Moves = v.Durable, v.Moving, v.Moves
	}
	for _, m := range v.Members {
		if !m.HasRole(r.role) {
			continue
		}
		p := replicator.Peer{ID: crdt.Origin(m.UID), UpNumber: m.UpNumber, Disk: uint64(m.Disk)}
		if m.Full() {
			view.Voters = append(view.Voters, p)
		} else {
			view.Learners = append(view.Learners, p)
		}
	}
	for _, set := range v.LastDisks(r.role) {
		disks := make([]uint64, len(set))
		for i, d := range set {
			disks[i] = uint64(d)
		}
		view.LastDisks = append(view.LastDisks, disks)
	}
	r.loop.Force(request{in: replicator.Install{View: view}})
}

func (r *Replicator) reachable(uid membership.UID, yes bool) {
	r.loop.Force(request{in: replicator.Reachable{Origin: crdt.Origin(uid), Is: yes}})
}

// refusal says why an input was not taken.
func (r *Replicator) refusal() error {
	if err := r.n.life.why(); err != nil {
		return err
	}
	return replicator.ErrOverloaded
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
			return v, r.wrap("get", key, quorum.Local, crdt.CheckKey(key))
		case v.Deleted():
			return crdt.Reader{}, r.wrap("get", key, quorum.Local, crdt.ErrDeleted)
		}
		return v, nil
	}
	if err := crdt.CheckKey(key); err != nil {
		return crdt.Reader{}, r.wrap("get", key, quorum.Local, err)
	}
	res := r.call(ctx, quorum.Local, nil, func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
		return replicator.Get{ID: id, Key: key, Read: quorum.Local, Timeout: timeout}
	})
	if res.Err == nil {
		r.loop.Post(request{do: r.publish})
	}
	return res.Reader, r.wrap("get", key, quorum.Local, res.Err)
}

// publish makes a snapshot for local reads. It runs on the loop's goroutine, and only after someone
// read: a store that is only written pays nothing for it.
func (r *Replicator) publish(d *replicaDriver) {
	if p, v := r.snaps.Load(), r.version.Load(); p == nil || p.version != v {
		r.snaps.Store(d.state(v))
	}
}

// state returns the present state.
func (d *replicaDriver) state(version uint64) *published {
	return &published{
		version: version, routes: d.m.Routes(),
		snaps: [2]*crdt.Snapshot{d.m.Snapshot(replicator.Volatile), d.m.Snapshot(replicator.Durable)},
	}
}

// replicaDriver steps the machine; its fields belong to the loop's goroutine.
type replicaDriver struct {
	n       *Node
	r       *Replicator
	role    string
	m       *replicator.Machine
	table   durable.Table // nil without a directory
	waiting map[uint64]pending
	subs    map[uint64]*subscription
	scratch []byte

	now   time.Time // of the step
	times *times
	stats latest[replicator.Stats]
}

var _ runloop.Machine[request] = (*replicaDriver)(nil)

// Step implements runloop.Machine.
func (d *replicaDriver) Step(now time.Time, q request) {
	d.now = now
	q.from.Release()
	if q.do != nil {
		q.do(d)
		return
	}
	if q.call != nil && q.call.gone {
		q.done(replicator.Result{Err: replicator.ErrCancelled})
		return
	}
	if q.done != nil {
		d.waiting[q.id] = pending{done: q.done, level: q.level, began: now, took: d.times.of(q.in, q.level)}
		if q.call != nil {
			q.call.id = q.id
		}
	}
	d.carry(d.m.Step(now, q.in))
}

// pending is an operation that is under way.
type pending struct {
	done  func(replicator.Result)
	level Level
	began time.Time
	took  events.Observer // nil without a Meter
}

// answer gives an operation its result. One that needed other nodes succeeds only under the lease:
// a node that was left behind may still find a majority of the view that it knows, while the others
// have gone on without it.
func (p pending) answer(res replicator.Result, leased bool) {
	if res.Err == nil && p.level != quorum.Local && !leased {
		res = replicator.Result{ID: res.ID, Err: ErrNoLease}
	}
	p.done(res)
}

// Flush implements runloop.Machine.
func (d *replicaDriver) Flush() {
	if d.times != nil {
		d.stats.store(d.m.Stats())
	}
}

// Deadline implements runloop.Machine.
func (d *replicaDriver) Deadline() time.Time { return d.m.Deadline() }

// Tick implements runloop.Machine.
func (d *replicaDriver) Tick() request { return request{in: replicator.Tick{}} }

func (d *replicaDriver) carry(fx *replicator.Effects) {
	if fx.Changed {
		d.r.version.Add(1) // before the replies: a caller with its reply reads its own write
	}
	for _, b := range fx.Persist {
		d.persist(b)
	}
	for _, e := range fx.Send {
		d.send(e)
	}
	leased := len(fx.Reply) > 0 && d.n.HoldsLease()
	for _, res := range fx.Reply {
		if p, ok := d.waiting[res.ID]; ok {
			delete(d.waiting, res.ID)
			p.answer(res, leased)
			if p.took != nil {
				p.took.Observe(d.now.Sub(p.began).Seconds())
			}
		}
	}
	for _, c := range fx.Notify {
		if s := d.subs[c.Sub]; s != nil {
			s.offer(c)
		}
	}
	if fx.Notable() {
		d.tell(fx)
	}
	if fx.CaughtUp || len(fx.Settled) > 0 {
		d.n.progress.note(d.role, d.m.CaughtUp(), membership.Epoch(d.m.Settled()))
		d.n.maybeUp()
	}
	if fx.Moved != 0 {
		d.n.progress.noteMoved(d.role, fx.Moved)
	}
}

func (d *replicaDriver) persist(b replicator.Batch) {
	done := func(err error) {
		d.r.storeFault.Store(nil)
		if err != nil {
			d.r.storeFault.Store(&err)
			d.n.reports.emit(events.StoreFailed{Role: d.role, Err: err})
		}
		d.r.loop.Force(request{in: replicator.Persisted{ID: b.ID, Err: err}})
	}
	if d.table == nil {
		done(errors.New("ddata: durable key, but the node has no Config.Dir"))
		return
	}
	d.table.Commit(rows.Of(b), done)
}

func (d *replicaDriver) send(e replicator.Envelope) {
	lane := transport.Control
	if e.Lane == replicator.Bulk {
		lane = transport.Bulk
	}
	d.scratch = replicator.AppendMessage(d.scratch[:0], e.Msg)
	if err := d.n.net.Send(transport.NodeID(e.To), lane, 0, d.r.ch, d.scratch); err != nil {
		d.n.reports.emit(events.MessageUnsent{What: "replicator", To: e.String(), Err: err})
	}
}
