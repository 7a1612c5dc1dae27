package drivers

import (
	"errors"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// ReplicaHost is the world around a Replica. Its methods are called by Step. They must not call
// Step again: what they have for the machine comes later, as an input.
type ReplicaHost interface {
	// Changed says that the content may have changed, before any reply of the step.
	Changed()
	// Commit has a batch stored, and answers later with replicator.Persisted.
	Commit(storage.Batch)
	// Send sends a message, encoded in payload, which is valid until Send returns. It must not be changed: the next
	// peer may get the same bytes. The message may be lost.
	Send(e effect.Envelope, payload []byte)
	// Decode decodes a message that has come in parts (wire.DecodeWhole) and answers later with
	// replicator.Decoded, without a message if it cannot be decoded. It may be lost.
	Decode(effect.Whole)
	// HoldsLease reports whether the node holds its lease at this moment.
	HoldsLease() bool
	// Notify tells a subscription of a change.
	Notify(effect.Change)
	// Tell tells what else a step has shown (Effects.Notable). Of it the host gives Retirable to
	// Progress.Agreed, and ends the node if it is Outdated.
	Tell(*effect.Effects)
	// Reached tells how far the replica is, each time that this has changed.
	Reached(caughtUp bool, settled view.Epoch)
	// Moved tells that the replica has done its part of a move of keys.
	Moved(number uint16)
}

// ErrNoLease is the error of an operation that needed other nodes, when the node holds no lease.
var ErrNoLease = errors.New("ddata: this node holds no lease")

// Observer gets the seconds that an operation took.
type Observer interface{ Observe(seconds float64) }

// Replica drives one replicator.
type Replica struct {
	m       *replicator.Machine
	host    ReplicaHost
	trace   func(replicator.Input, *effect.Effects)
	waiting map[uint64]pending // operations under way
	told    reached
	scratch []byte

	received replicator.Receive // the message that is stepped, in the same memory as the one before
}

// reached is how far the replica is, as the host was told.
type reached struct {
	caughtUp bool
	settled  view.Epoch
}

// pending is an operation that is under way.
type pending struct {
	done  func(effect.Result)
	alone bool // it needs no other node
	began time.Time
	took  Observer // nil: the time is not observed
}

// NewReplica returns a driver of m.
func NewReplica(m *replicator.Machine, host ReplicaHost) *Replica {
	return &Replica{m: m, host: host, waiting: map[uint64]pending{}}
}

// Trace has fn called with each input that the machine has taken, and its effects, before they are
// carried out.
func (d *Replica) Trace(fn func(replicator.Input, *effect.Effects)) { d.trace = fn }

// Machine is the machine, for looking at it between two steps.
func (d *Replica) Machine() *replicator.Machine { return d.m }

// Call steps an operation. done gets its result, once, from a later step or this one; took may be
// nil.
//
// An operation that needs other nodes succeeds only under the lease. A node that was left behind
// may still find a majority of the view that it knows, while the others have gone on without it.
func (d *Replica) Call(now time.Time, id uint64, in replicator.Input, done func(effect.Result), took Observer) {
	d.waiting[id] = pending{done: done, alone: isLocal(in), began: now, took: took}
	d.Step(now, in)
}

// isLocal reports whether an operation needs no other node.
func isLocal(in replicator.Input) bool {
	switch in := in.(type) {
	case replicator.Get:
		return in.Read == quorum.Local
	case replicator.Update:
		return in.Write == quorum.Local
	case replicator.Delete:
		return in.Write == quorum.Local
	case replicator.DeleteForever:
		return in.Write == quorum.Local
	}
	return true
}

// Fail gives all operations under way the same result. It is called when nothing is stepped any
// more.
func (d *Replica) Fail(with effect.Result) {
	for _, p := range d.waiting { // order: each caller has its own
		p.done(with)
	}
	clear(d.waiting)
}

// Receive steps what a peer has sent; a nil msg is one that could not be decoded.
func (d *Replica) Receive(now time.Time, from crdt.Origin, msg wire.Message) {
	d.received = replicator.Receive{From: from, Msg: msg}
	d.Step(now, &d.received)
	d.received.Msg = nil
}

// Step has the machine take an input, and carries out what it wants.
func (d *Replica) Step(now time.Time, in replicator.Input) {
	fx := d.m.Step(now, in)
	if d.trace != nil {
		d.trace(in, fx)
	}
	if fx.Changed {
		d.host.Changed()
	}
	for _, b := range fx.Persist {
		d.host.Commit(b)
	}
	var encoded wire.Message // mostly several peers get the same
	for _, e := range fx.Send {
		if e.Msg != encoded {
			d.scratch, encoded = wire.Append(d.scratch[:0], e.Msg), e.Msg
		}
		d.host.Send(e, d.scratch)
	}
	for _, w := range fx.Whole {
		d.host.Decode(w)
	}
	leased := len(fx.Reply) > 0 && d.host.HoldsLease()
	for _, res := range fx.Reply {
		d.reply(now, res, leased)
	}
	for _, c := range fx.Notify {
		d.host.Notify(c)
	}
	if fx.Notable() {
		d.host.Tell(fx)
	}
	if fx.Moved != 0 {
		d.host.Moved(fx.Moved)
	}
	d.reach()
}

// reach tells how far the replica is. The effects do not show each advance: a view before the
// installed one that becomes known may be the last that was missing.
func (d *Replica) reach() {
	now := reached{d.m.CaughtUp(), view.Epoch(d.m.Settled())}
	if now != d.told {
		d.told = now
		d.host.Reached(now.caughtUp, now.settled)
	}
}

func (d *Replica) reply(now time.Time, res effect.Result, leased bool) {
	p, ok := d.waiting[res.ID]
	if !ok {
		return
	}
	delete(d.waiting, res.ID)
	if res.Err == nil && !p.alone && !leased {
		res = effect.Result{ID: res.ID, Err: ErrNoLease}
	}
	p.done(res)
	if p.took != nil {
		p.took.Observe(now.Sub(p.began).Seconds())
	}
}

// ViewOf is a view of the members as the replicators of a role need it. durable is false on nodes
// without durable keys, whatever was agreed on before. clean is the bound up to which the disk is good for
// what the members have agreed on (membership.Machine.Clean).
func ViewOf(v *view.View, role string, durable bool, clean view.UID) replica.View {
	out := replica.View{Epoch: uint64(v.Epoch), Founded: v.Founded}
	if durable {
		out.Durable, out.Moving = view.PatternsOf(v.Durable, role), view.PatternsOf(v.Moving, role)
		out.Moves, out.Move = v.Moves, len(v.Moving) > 0
	}
	if a := v.Ages; a != nil {
		out.Ending, out.Ended, out.AgreedIn = retirement(a.Ending), retirement(a.Ended), uint64(a.AgreedIn)
		out.Clean = clean >= a.Ended.Below
	}
	for _, m := range v.Members {
		if !m.HasRole(role) {
			continue
		}
		p := replica.Member{ID: crdt.Origin(m.UID), UpNumber: m.UpNumber, Disk: uint64(m.Disk)}
		if m.Full() {
			out.Voters = append(out.Voters, p)
		} else {
			out.Learners = append(out.Learners, p)
		}
	}
	for _, set := range v.LastDisks(role) {
		disks := make([]uint64, len(set))
		for i, d := range set {
			disks[i] = uint64(d)
		}
		out.LastDisks = append(out.LastDisks, disks)
	}
	return out
}

func retirement(r view.Retirement) replica.Retirement {
	out := replica.Retirement{Below: crdt.Origin(r.Below), Moves: r.Moves}
	for _, u := range r.Spared {
		out.Spared = append(out.Spared, crdt.Origin(u))
	}
	return out
}
