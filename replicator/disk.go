package replicator

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// disk is how the durable space gets to its rows: one batch is out at a time, what happens
// meanwhile gathers in the next.
//
// Invariants: clock ⊆ out.clock ⊆ the content clock; next holds all that the content has and out,
// or without one clock, has not.
type disk struct {
	clock  *crdt.Clock // what is committed; it is replaced, never changed
	digest crdt.Digest // of the rows that count
	out    *batch      // being written; nil: none
	sent   bool        // the disk owes an answer; else out is in parts, and the next of them is due
	next   batch
	id     uint64
	hold   time.Time // no batch goes out before: the last has failed, or was sent less than WriteBehind ago
	again  time.Time // no part of out goes out before: the last has failed
}

// batch gathers what becomes one transaction.
type batch struct {
	dirty bool             // there is something to write, if only the clock
	put   []*crdt.Item     // nil: dropped again before it was written
	place map[crdt.Dot]int // of an item in put
	drop  []crdt.Dot       // rows of earlier batches

	// Set when it goes out.
	clock  *crdt.Clock
	digest crdt.Digest
	own    uint64 // last own event that fails when it does
	parts  *parts // nil: it goes whole
	after  parts  // what the part that is out leads to
}

// fold adds what one call of the store did. Puts come first: a call can drop what it has put, but
// not put what it has dropped.
func (b *batch) fold(put, dropped []*crdt.Item) {
	b.dirty = true
	for _, it := range put {
		if b.place == nil {
			b.place = map[crdt.Dot]int{}
		}
		b.place[it.Dot] = len(b.put)
		b.put = append(b.put, it)
	}
	for _, it := range dropped {
		b.dropRow(it.Dot)
	}
}

func (b *batch) dropRow(d crdt.Dot) {
	if i, ok := b.place[d]; ok {
		b.put[i] = nil
		delete(b.place, d)
		return
	}
	b.drop = append(b.drop, d)
}

// follow adds a later batch to a failed one, which stays its prefix (R3).
func (b *batch) follow(next *batch) {
	for _, d := range next.drop {
		b.dropRow(d)
	}
	put := slices.DeleteFunc(next.put, func(it *crdt.Item) bool { return it == nil })
	b.fold(put, nil)
}

// due says when there is something for the disk to do, if there is.
func (d *disk) due() (time.Time, bool) {
	if d.out != nil {
		return d.again, !d.sent
	}
	return d.hold, d.next.dirty
}

// persist sends the gathered batch to the disk, or the next part of the one that is being written.
func (s *space) persist() {
	d := &s.disk
	if at, ok := d.due(); s.id != Durable || !ok || s.m.now.Before(at) {
		return
	}
	if d.out == nil {
		s.beginBatch()
	}
	b := d.out
	out := Batch{Drop: b.drop, Put: b.put, Clock: b.clock, Digest: b.digest}
	if b.parts != nil {
		out = s.part(b)
	}
	d.id++
	out.ID, out.Space = d.id, s.id
	b.own, d.sent = s.rep.Seq(), true
	s.m.eff.Persist = append(s.m.eff.Persist, out)
}

// beginBatch makes a batch of what has gathered.
func (s *space) beginBatch() {
	d := &s.disk
	b := d.next
	d.next = batch{}
	b.put = slices.DeleteFunc(b.put, func(it *crdt.Item) bool { return it == nil })
	if s.large(&b) {
		s.cut(&b)
	}
	b.place = nil
	b.clock, b.digest = s.content().Clone(), s.store.Digest()
	d.out = &b
	d.hold, d.again = s.m.now.Add(s.m.cfg.WriteBehind), zeroTime
}

// onPersisted takes the disk's answer. Only now does what the batch held count (R7).
func (s *space) onPersisted(id uint64, err error) {
	d := &s.disk
	if d.out == nil || id != d.id {
		panic(fmt.Sprintf("replicator: batch #%d persisted, #%d is out", id, d.id))
	}
	b := d.out
	d.sent = false
	switch {
	case err != nil:
		s.m.stats.StoreFailures++
		if b.parts == nil {
			d.out = nil
			s.keepFailed(b)
		} else {
			d.again = s.m.now.Add(s.m.cfg.RetryInterval)
		}
		s.failLocal(b.own, err)
		s.tellUnstored(b.clock, err)
	case b.parts != nil:
		s.onPart(b)
	default:
		d.out = nil
		s.onCommitted(b)
	}
}

// onCommitted takes notice that the clock of a batch is on disk, with all that counts.
func (s *space) onCommitted(b *batch) {
	d := &s.disk
	d.clock, d.digest = b.clock, b.digest
	s.acksMoved = true
	s.compareNow()
	for _, p := range s.m.peers {
		if s.acked().Base(p.id) > p.link(s).toldAcked {
			s.owe(p)
		}
	}
}

// keepFailed makes a failed batch the prefix of the next one, which waits a while.
func (s *space) keepFailed(b *batch) {
	kept := batch{dirty: true, drop: slices.Clone(b.drop), place: make(map[crdt.Dot]int, len(b.put))}
	kept.put = slices.Clone(b.put)
	for i, it := range kept.put {
		kept.place[it.Dot] = i
	}
	kept.follow(&s.disk.next)
	s.disk.next = kept
	s.disk.hold = later(s.disk.hold, s.m.now.Add(s.m.cfg.RetryInterval))
}
