package thousand

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// replicaHost is the host of the driver of one of a node's replicators.
type replicaHost struct {
	n      *node
	set    keyspace.Dataset
	part   part
	d      *drivers.Replica
	m      *replicator.Machine
	timer  timer
	nextID uint64
	subs   map[uint64]func(effect.Change)
	todo   []func() // steps that came up while effects were carried out
	busy   bool
}

var (
	_ drivers.ReplicaHost = (*replicaHost)(nil)
	_ drivers.DataHost    = (*replicaHost)(nil)
)

func newReplicaHost(n *node, set keyspace.Dataset) (*replicaHost, error) {
	h := &replicaHost{n: n, set: set, part: usersPart, subs: map[uint64]func(effect.Change){}}
	if set.Reserved {
		h.part = reservedPart
	}
	var err error
	h.m, err = replicator.New(settings.Config{Self: crdt.Origin(n.uid), Reserved: set.Reserved},
		rand.New(rand.NewPCG(n.rng.Uint64(), 2)), replicator.Loaded{})
	if err != nil {
		return nil, err
	}
	h.d = drivers.NewReplica(h.m, h)
	return h, nil
}

func (h *replicaHost) start() { h.step(replicator.Tick{}) }

// step lets the machine take one input, and then what came up meanwhile.
func (h *replicaHost) step(in replicator.Input) {
	h.run(in, func() { h.d.Step(h.n.w.clock(), in) })
}

func (h *replicaHost) run(in any, step func()) {
	w := h.n.w
	h.todo = append(h.todo, func() { w.meter.step(h.n, h.part, in, step) })
	if h.busy {
		return
	}
	h.busy = true
	for len(h.todo) > 0 && h.n.alive {
		next := h.todo[0]
		h.todo = h.todo[1:]
		next()
	}
	h.busy = false
	h.timer.arm(h.n, h.m.Deadline(), func() { h.step(replicator.Tick{}) })
}

// Changed implements drivers.ReplicaHost.
func (h *replicaHost) Changed() {}

// HoldsLease implements drivers.ReplicaHost.
func (h *replicaHost) HoldsLease() bool { return h.n.mem.holds() }

// Notify implements drivers.ReplicaHost.
func (h *replicaHost) Notify(c effect.Change) {
	if sub := h.subs[c.Sub]; sub != nil {
		sub(c)
	}
}

// Moved implements drivers.ReplicaHost.
func (h *replicaHost) Moved(number uint16) { h.n.progress.Moved(h.set, number) }

// Reached implements drivers.ReplicaHost.
func (h *replicaHost) Reached(caughtUp bool, settled view.Epoch) {
	h.n.progress.Reached(h.set, caughtUp, settled)
}

// Tell implements drivers.ReplicaHost.
func (h *replicaHost) Tell(e *effect.Effects) {
	if e.Retirable != 0 {
		h.n.progress.Agreed(h.set, view.Epoch(e.Retirable))
	}
}

// Commit implements drivers.ReplicaHost. Nothing is durable here.
func (h *replicaHost) Commit(b storage.Batch) {
	h.n.soon(func() { h.step(replicator.Persisted{ID: b.ID}) })
}

// Send implements drivers.ReplicaHost.
func (h *replicaHost) Send(e effect.Envelope, payload []byte) {
	h.n.w.meter.within(nil, playing, func() {
		from, own := crdt.Origin(h.n.uid), bytes.Clone(payload)
		h.n.w.carry(h.n, uint64(e.To), reflect.TypeOf(e.Msg).String(), len(payload), func(n *node) {
			for _, r := range n.data {
				if r.set == h.set {
					r.receive(from, own)
				}
			}
		})
	})
}

func (h *replicaHost) receive(from crdt.Origin, payload []byte) {
	if m := h.decoded(func() (wire.Message, error) { return wire.Decode(payload) }); m != nil {
		h.step(&replicator.Receive{From: from, Msg: m})
	}
}

// Decode implements drivers.ReplicaHost.
func (h *replicaHost) Decode(w effect.Whole) {
	h.n.soon(func() {
		m := h.decoded(func() (wire.Message, error) { return wire.DecodeWhole(w.Data) })
		h.step(replicator.Decoded{From: w.From, Flow: w.Flow, Msg: m})
	})
}

func (h *replicaHost) decoded(decode func() (wire.Message, error)) (m wire.Message) {
	var err error
	h.n.w.meter.within(h.n, h.part, func() { m, err = decode() })
	if err != nil {
		h.n.w.fail("a message of a replicator does not decode: %v", err)
	}
	return m
}

func (h *replicaHost) install(v *view.View) {
	h.step(replicator.Install{View: drivers.ViewOf(v, role, false, h.n.mem.m.Clean())})
}

// Operate implements drivers.DataHost.
func (h *replicaHost) Operate(_ quorum.Level, timeout time.Duration,
	in func(id uint64, timeout time.Duration) replicator.Input, done func(effect.Result)) {
	h.n.soon(func() {
		h.nextID++
		id := h.nextID
		op := in(id, timeout)
		h.run(op, func() {
			h.d.Call(h.n.w.clock(), id, op, func(r effect.Result) { h.n.enter(func() { done(r) }) }, nil)
		})
	})
}

// Follow implements drivers.DataHost.
func (h *replicaHost) Follow(prefix string, fn func(string, crdt.Reader)) (cancel func()) {
	var id uint64
	h.n.soon(func() {
		h.nextID++
		id = h.nextID
		h.subs[id] = func(c effect.Change) { h.n.enter(func() { fn(c.Key, c.Reader) }) }
		h.step(replicator.Subscribe{ID: id, Prefix: prefix, All: true})
	})
	return func() {
		h.n.soon(func() {
			delete(h.subs, id)
			h.step(replicator.Unsubscribe{ID: id})
		})
	}
}

// Explain implements drivers.DataHost.
func (h *replicaHost) Explain(what, key string, level quorum.Level, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q at %v: %w", what, key, level, err)
}
