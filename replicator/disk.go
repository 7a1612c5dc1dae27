package replicator

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// disk is how the durable space gets to its rows: one batch is out at a time, what happens meanwhile gathers in the next.
//
// Invariants: clock ⊆ out.clock ⊆ the content clock; next holds all that the content has and out, or without one clock, has not.
type disk struct {
	clock *crdt.Clock // what is committed; it is replaced, never changed
	out   *batch      // on its way; nil: none
	next  batch
	id    uint64
	hold  time.Time // no batch goes out before: the last has failed, or was sent less than WriteBehind ago
}

// batch gathers what becomes one transaction.
type batch struct {
	dirty bool             // there is something to write, if only the clock
	put   []*crdt.Item     // nil: dropped again before it was written
	place map[crdt.Dot]int // of an item in put
	drop  []crdt.Dot       // rows of earlier batches
	clock *crdt.Clock      // set when it goes out
	own   uint64           // last own event in it, set when it goes out
}

// fold adds what one call of the store did. Puts come first: a call can drop what it has put, but not put what it has dropped.
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

// ready says that there is something to write and nothing on its way.
func (d *disk) ready() bool { return d.next.dirty && d.out == nil }

// persist sends the gathered batch to the disk, unless one is on its way or it has to wait.
func (s *space) persist() {
	d := &s.disk
	if s.id != Durable || !d.ready() || s.m.now.Before(d.hold) {
		return
	}
	b := d.next
	d.next = batch{}
	b.put = slices.DeleteFunc(b.put, func(it *crdt.Item) bool { return it == nil })
	b.place = nil
	b.clock, b.own = s.content().Clone(), s.rep.Seq()
	d.out = &b
	d.id++
	d.hold = s.m.now.Add(s.m.cfg.WriteBehind)
	s.m.eff.Persist = append(s.m.eff.Persist, Batch{ID: d.id, Space: s.id, Drop: b.drop, Put: b.put, Clock: b.clock, Digest: s.store.Digest()})
}

// onPersisted takes the disk's answer. Only now does what the batch held count (R7).
func (s *space) onPersisted(id uint64, err error) {
	d := &s.disk
	if d.out == nil || id != d.id {
		panic(fmt.Sprintf("replicator: batch #%d persisted, #%d is out", id, d.id))
	}
	b := d.out
	d.out = nil
	if err != nil {
		s.m.stats.StoreFailures++
		s.keepFailed(b)
		s.failLocal(b.own, err)
		return
	}
	d.clock = b.clock
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
