package replicator

import (
	"iter"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// replica is what one space holds, and what its peers are known to hold. The owners of the space
// stand on it.
type replica struct {
	*site
	id       keyspace.Space
	rep      *crdt.Replica
	store    *crdt.Store
	ch       crdt.Changes // of the call that is being made; absorbed at once
	disk     storage.Writer
	chain    *quorum.Chain // of the views that may not be settled, which the settlement keeps
	watchers []watcher

	questions uint64 // the number of the last that was asked for reads

	hash   [16]byte // of the content clock, while hashed
	hashed bool

	// What this step has moved; finish looks at it and clears it.
	moved     bool // the content clock
	acksMoved bool // the acks of a peer, or the set of peers that count
}

// watcher follows what the calls of a store change.
type watcher interface{ touch(r *replica) }

// newReplica makes an empty one.
func newReplica(t *site, id keyspace.Space, chain *quorum.Chain) *replica {
	r := &replica{site: t, id: id, chain: chain}
	r.rep = crdt.NewReplica(t.cfg.Self, crdt.StoreOptions{
		DigestSeed: t.cfg.DigestSeed, LogMax: t.cfg.LogMax, LogBytesMax: t.cfg.LogBytesMax,
		Defects: t.cfg.Defects.Store, SketchCells: max(0, t.cfg.SketchCells), SketchFrom: t.cfg.SketchFrom,
	})
	r.store = r.rep.Store()
	r.disk = storage.NewWriter(storage.Limits{
		RowsMax: t.cfg.BatchRowsMax, BytesMax: t.cfg.BatchBytesMax,
		WriteBehind: t.cfg.WriteBehind, RetryInterval: t.cfg.RetryInterval,
	}, r.store.Hash)
	return r
}

// load takes what the disk held at start.
func (r *replica) load(
	clock *crdt.Clock, digest crdt.Digest, items iter.Seq2[crdt.Item, error], partial storage.PartialBatch,
) error {
	if items == nil {
		items = func(func(crdt.Item, error) bool) {}
	}
	if err := r.rep.Load(clock, digest, items); err != nil {
		return err
	}
	r.disk.Load(r.content().Clone(), r.store.Digest(), partial)
	return nil
}

// owns reports whether a key lives in this space. The other one may hold items of it while it moves,
// and after that.
func (r *replica) owns(key string) bool { return r.routes.SpaceOf(key) == r.id }

// content is the clock that goes with the items: what has been applied. It changes with the store.
func (r *replica) content() *crdt.Clock { return r.store.Clock() }

// committed is what a crash leaves to the cluster: in the volatile space all of the content, in the
// durable one what is on disk (R7).
func (r *replica) committed() *crdt.Clock {
	if r.id == keyspace.Volatile || r.cfg.Defects.AckBeforeCommit {
		return r.content()
	}
	return r.disk.Committed()
}

// answers reports whether others may count on what this replica has. Either it has caught up (R4),
// or what its disk brought must be heard after a cold start: perhaps no other disk has it.
func (r *replica) answers() bool { return r.serves || r.chain.Wants(r.cfg.Disk) }

// acked is what this replica answers for.
func (r *replica) acked() *crdt.Clock {
	if !r.answers() {
		return &noClock
	}
	return r.committed()
}

// noClock is empty and must stay so.
var noClock crdt.Clock

// ackedAll reports whether all of the content counts.
func (r *replica) ackedAll() bool {
	c := r.acked()
	return c == r.content() || c.Equal(r.content())
}

// contentHash returns the hash of the content clock.
func (r *replica) contentHash() [16]byte {
	if !r.hashed {
		r.hash, r.hashed = r.content().Hash(), true
	}
	return r.hash
}

// absorb follows every call that may have changed the store.
func (r *replica) absorb() {
	r.moved, r.hashed = true, false
	for _, w := range r.watchers {
		w.touch(r)
	}
	r.eff.Changed = r.eff.Changed || len(r.ch.Keys) > 0
	if r.id == keyspace.Durable {
		r.disk.Fold(r.ch.Put, r.ch.Dropped)
	}
	r.ch.Reset()
}

// persist sends to the disk what is due.
func (r *replica) persist() {
	if r.id != keyspace.Durable {
		return
	}
	now := func() storage.State {
		return storage.State{Clock: r.content(), Digest: r.store.Digest(), Seq: r.rep.Seq()}
	}
	if b, ok := r.disk.Advance(r.now, now); ok {
		r.eff.Persist = append(r.eff.Persist, b)
	}
}

// noteAcks notes that the acks of a peer or of this replica, or whose acks count, have changed.
func (r *replica) noteAcks() { r.acksMoved = true }

// rest ends a step: what it has moved has been looked at.
func (r *replica) rest() { r.moved, r.acksMoved = false, false }

// learnContent notes that the peer has applied c.
func (r *replica) learnContent(p *peer, c *crdt.Clock) {
	l := p.link(r.id)
	l.content.Join(c)
	if l.window.SetApplied(l.content.Base(r.cfg.Self)) {
		r.watch(p)
	}
}

// learnAcked notes that c counts at the peer.
func (r *replica) learnAcked(p *peer, c *crdt.Clock) {
	l := p.link(r.id)
	l.acked.Join(c)
	r.learnContent(p, c)
	l.window.SetCounted(l.acked.Base(r.cfg.Self))
	l.refuses = false
	r.noteAcks()
}

// learnOwn notes what the peer has of the own events.
func (r *replica) learnOwn(p *peer, content, acked uint64) {
	l, self := p.link(r.id), r.cfg.Self
	if content > l.window.Applied() {
		l.content.AddRange(self, 1, content)
		l.window.SetApplied(l.content.Base(self))
	}
	if acked > l.window.Counted() {
		l.acked.AddRange(self, 1, acked)
		l.window.SetCounted(l.acked.Base(self))
		l.refuses = false
		r.noteAcks()
	}
}

// watch arms the timer of a link on which something is unacknowledged.
func (r *replica) watch(p *peer) {
	w := &p.link(r.id).window
	if !w.Pending(p.voter) {
		w.Rest()
	} else if w.Arm(r.now.Add(r.backoff(w.Tries()))) {
		r.arm(w.RetryAt())
	}
}

// tellClock sends the own clock to a peer; the peer answers with what the clock lacks.
func (r *replica) tellClock(p *peer, ask bool) {
	msg := &wire.Clock{Epoch: r.view.Epoch, Space: r.id, Ask: ask, Content: r.content().Clone()}
	if !r.ackedAll() {
		msg.Acked = r.acked().Clone()
	}
	r.send(p, effect.Prompt, msg)
}

// trim drops from the log what every member has acknowledged. A replica that is alone needs no log.
func (r *replica) trim() {
	if r.store.LogLen() == 0 {
		return
	}
	stable := r.acked().Clone()
	for _, p := range r.peers {
		stable = stable.Minus(stable.Minus(p.link(r.id).acked))
	}
	r.rep.Trim(stable)
}

// nextQuestion returns a number for a question that no other has had.
func (r *replica) nextQuestion() uint64 {
	r.questions++
	return r.questions
}
