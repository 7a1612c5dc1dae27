package replica

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Replica is what one space holds, and what its peers are known to hold. The owners of the space
// stand on it.
type Replica struct {
	*Site
	ID       keyspace.Space
	Items    *crdt.Replica
	Store    *crdt.Store
	Changes  crdt.Changes // of the call that is being made; absorbed at once
	Disk     storage.Writer
	Chain    *quorum.Chain // of the views that may not be settled, which the settlement keeps
	Watchers []Watcher

	Asking uint64 // the number with which pushes ask; it rises when the quorums change

	questions uint64 // the number of the last that was asked for reads

	late late // what was not followed yet

	// of the content clock, until it changes
	hash   [16]byte // while hashed
	hashed bool
	copied *crdt.Clock // nil: nothing has asked for a copy

	// What this step has moved; finish looks at it and clears it.
	Moved     bool // the content clock
	AcksMoved bool // the acks of a peer, or the set of peers that count
}

// Watcher follows what the calls of a store change.
type Watcher interface{ Touch(r *Replica) }

// New makes an empty one.
func New(t *Site, id keyspace.Space, chain *quorum.Chain) *Replica {
	r := &Replica{Site: t, ID: id, Chain: chain}
	options := crdt.StoreOptions{
		DigestSeed: t.Cfg.DigestSeed, LogMax: t.Cfg.LogMax, LogBytesMax: t.Cfg.LogBytesMax,
		SketchCells: max(0, t.Cfg.SketchCells), SketchFrom: t.Cfg.SketchFrom,
	}
	options.Plant(t.Cfg.Defects())
	r.Items = crdt.NewReplica(t.Cfg.Self, options)
	r.Store = r.Items.Store()
	retry := t.Cfg.RetryInterval
	if t.Cfg.Planted(defect.NeverRetry) {
		retry = math.MaxInt32 * time.Second
	}
	r.Disk = storage.NewWriter(storage.Limits{
		RowsMax: t.Cfg.BatchRowsMax, BytesMax: t.Cfg.BatchBytesMax,
		WriteBehind: t.Cfg.WriteBehind, RetryInterval: retry,
	}, r.Store.Hash)
	return r
}

// Load takes what the disk held at start.
func (r *Replica) Load(
	clock *crdt.Clock, digest crdt.Digest, items iter.Seq2[crdt.Item, error], partial storage.PartialBatch,
) error {
	if items == nil {
		items = func(func(crdt.Item, error) bool) {}
	}
	if err := r.Items.Load(clock, digest, r.checked(items)); err != nil {
		return err
	}
	r.Disk.Load(r.Content().Clone(), r.Store.Digest(), partial)
	return nil
}

// checked ends the items with an error at the first one whose key is of other data.
func (r *Replica) checked(items iter.Seq2[crdt.Item, error]) iter.Seq2[crdt.Item, error] {
	return func(yield func(crdt.Item, error) bool) {
		last := "" // whose items stand side by side
		for it, err := range items {
			if err == nil && it.Key != last {
				last = it.Key
				if err = r.CheckKey(it.Key); err != nil {
					err = fmt.Errorf("%q: %w", it.Key, err)
				}
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// Owns reports whether a key lives in this space. The other one may hold items of it while it
// moves, and after that.
func (r *Replica) Owns(key string) bool { return r.Routing.SpaceOf(key) == r.ID }

// Content is the clock that goes with the items: what has been applied. It changes with the store.
func (r *Replica) Content() *crdt.Clock { return r.Store.Clock() }

// Committed is what a crash leaves to the cluster: in the volatile space all of the content, in the
// durable one what is on disk (R7).
func (r *Replica) Committed() *crdt.Clock {
	if r.ID == keyspace.Volatile || r.Cfg.Planted(defect.AckBeforeCommit) {
		return r.Content()
	}
	return r.Disk.Committed()
}

// Answers reports whether others may count on what this replica has. Either it has caught up (R4),
// or what its disk brought must be heard after a cold start: perhaps no other disk has it.
func (r *Replica) Answers() bool { return r.Serves || r.Chain.Wants(r.Cfg.Disk) }

// Acked is what this replica answers for.
func (r *Replica) Acked() *crdt.Clock {
	if !r.Answers() {
		return &noClock
	}
	return r.Committed()
}

// noClock is empty and must stay so.
var noClock crdt.Clock

// AckedAll reports whether all of the content counts.
func (r *Replica) AckedAll() bool {
	c := r.Acked()
	return c == r.Content() || c.Equal(r.Content())
}

// ContentHash returns the hash of the content clock.
func (r *Replica) ContentHash() [16]byte {
	if !r.hashed {
		r.hash, r.hashed = r.Content().Hash(), true
	}
	return r.hash
}

// CommittedHash returns the hash of the committed clock. That is mostly the one of the content.
func (r *Replica) CommittedHash() [16]byte {
	if c := r.Committed(); c != r.Content() && !c.Equal(r.Content()) {
		return c.Hash()
	}
	return r.ContentHash()
}

// ContentCopy returns a copy of the content clock. It must not be modified: all that ask get the same
// one, as long as the content does not change.
func (r *Replica) ContentCopy() *crdt.Clock {
	if r.copied == nil {
		r.copied = r.Content().Clone()
	}
	return r.copied
}

// Check returns a broken invariant.
func (r *Replica) Check() error {
	if r.copied != nil && !r.copied.Equal(r.Content()) {
		return fmt.Errorf("content %v, and %v as its copy", r.Content(), r.copied)
	}
	return nil
}

// contentMoved notes that the content clock has changed.
func (r *Replica) contentMoved() { r.Moved, r.hashed, r.copied = true, false, nil }

// Absorb follows every call that may have changed the store.
func (r *Replica) Absorb() {
	r.contentMoved()
	for _, w := range r.Watchers {
		w.Touch(r)
	}
	r.Eff.Changed = r.Eff.Changed || len(r.Changes.Keys) > 0
	if r.ID == keyspace.Durable {
		if !r.late.queue(&r.Changes) {
			r.Disk.Fold(r.Changes.Put, r.Changes.Dropped)
		}
	}
	r.Changes.Reset()
}

// Persist sends to the disk what is due.
func (r *Replica) Persist() {
	if r.ID != keyspace.Durable || !r.Disk.Ready(r.Now) {
		return
	}
	st := storage.State{Clock: r.ContentCopy(), Digest: r.Store.Digest(), Seq: r.Items.Seq()}
	if b, ok := r.Disk.Advance(r.Now, st); ok {
		r.Eff.Persist = append(r.Eff.Persist, b)
	}
}

// NoteAcks notes that the acks of a peer or of this replica, or whose acks count, have changed.
func (r *Replica) NoteAcks() { r.AcksMoved = true }

// Rest ends a step: what it has moved has been looked at.
func (r *Replica) Rest() { r.Moved, r.AcksMoved = false, false }

// LearnContent notes that the peer has applied c.
func (r *Replica) LearnContent(p *Peer, c *crdt.Clock) {
	l := p.Link(r.ID)
	l.Content.Join(c)
	if l.Window.SetApplied(l.Content.Base(r.Cfg.Self)) {
		r.Watch(p)
	}
}

// LearnAcked notes that c counts at the peer.
func (r *Replica) LearnAcked(p *Peer, c *crdt.Clock) {
	l := p.Link(r.ID)
	l.Acked.Join(c)
	r.LearnContent(p, c)
	l.Window.SetCounted(l.Acked.Base(r.Cfg.Self))
	l.Refuses = false
	r.NoteAcks()
}

// LearnOwn notes what the peer has of the own events.
func (r *Replica) LearnOwn(p *Peer, content, acked uint64) {
	l, self := p.Link(r.ID), r.Cfg.Self
	if content > l.Window.Applied() {
		l.Content.AddRange(self, 1, content)
		l.Window.SetApplied(l.Content.Base(self))
	}
	if acked > l.Window.Counted() {
		l.Acked.AddRange(self, 1, acked)
		l.Window.SetCounted(l.Acked.Base(self))
		l.Refuses = false
		r.NoteAcks()
	}
}

// Watch arms the timer of a link on which something is unacknowledged.
func (r *Replica) Watch(p *Peer) {
	w := &p.Link(r.ID).Window
	if !w.Pending(p.Voter) {
		w.Rest()
	} else if w.Arm(r.Now.Add(r.Backoff(w.Tries()))) {
		r.Arm(w.RetryAt())
	}
}

// TellClock sends the own clock to a peer; the peer answers with what the clock lacks.
func (r *Replica) TellClock(p *Peer, ask bool) {
	msg := &wire.Clock{Epoch: r.View.Epoch, Space: r.ID, Ask: ask, Content: r.ContentCopy()}
	if !r.AckedAll() {
		msg.Acked = r.Acked().Clone()
	}
	r.Send(p, effect.Prompt, msg)
}

// Trim drops from the log what every member has acknowledged. A replica that is alone needs no log.
func (r *Replica) Trim() {
	if r.Store.LogLen() == 0 {
		return
	}
	has := append(make([]*crdt.Clock, 0, len(r.Peers)+1), r.Acked())
	for _, p := range r.Peers {
		has = append(has, p.Link(r.ID).Acked)
	}
	r.Items.Trim(has...)
}

// NextQuestion returns a number for a question that no other has had.
func (r *Replica) NextQuestion() uint64 {
	r.questions++
	return r.questions
}
