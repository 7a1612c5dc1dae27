package replicator

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/wire"
)

// disk is how the durable space gets to its rows: one batch is out at a time, what happens
// meanwhile gathers in the next.
//
// Invariants: clock ⊆ out.clock ⊆ the content clock; next holds all that the content has and out,
// or without one clock, has not.
type disk struct {
	limits diskLimits
	sum    func(*crdt.Item) crdt.Digest // the store's hash of an item

	clock  *crdt.Clock // what is committed; it is replaced, never changed
	digest crdt.Digest // of the rows that count
	out    *batch      // being written; nil: none
	sent   bool        // the disk owes an answer; else out is in parts, and the next of them is due
	next   batch
	id     uint64
	hold   time.Time // no batch goes out before: the last has failed, or was sent less than WriteBehind ago
	again  time.Time // no part of out goes out before: the last has failed
}

// diskLimits are the settings of a disk; Config names them.
type diskLimits struct {
	rowsMax, bytesMax          int
	writeBehind, retryInterval time.Duration
}

// diskState is what a batch is to bring to the disk, at the moment at which it goes out.
type diskState struct {
	clock  *crdt.Clock
	digest crdt.Digest
	seq    uint64 // of the last own event
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

// advance returns the next batch for the disk, or the next part of the one that is being written, if
// it is time for one. state is asked once.
func (d *disk) advance(now time.Time, state func() diskState) (out Batch, ok bool) {
	if at, any := d.due(); !any || now.Before(at) {
		return out, false
	}
	st := state()
	if d.out == nil {
		d.begin(now, st)
	}
	b := d.out
	out = Batch{Drop: b.drop, Put: b.put, Clock: b.clock, Digest: b.digest}
	if b.parts != nil {
		out = d.part(b)
	}
	d.id++
	out.ID, out.Space = d.id, keyspace.Durable
	b.own, d.sent = st.seq, true
	return out, true
}

// begin makes a batch of what has gathered.
func (d *disk) begin(now time.Time, st diskState) {
	b := d.next
	d.next = batch{}
	b.put = slices.DeleteFunc(b.put, func(it *crdt.Item) bool { return it == nil })
	if d.large(&b) {
		d.cut(&b)
	}
	b.place = nil
	b.clock, b.digest = st.clock.Clone(), st.digest
	d.out = &b
	d.hold, d.again = now.Add(d.limits.writeBehind), zeroTime
}

// written takes the news that what is out is on disk, and reports whether a clock was committed by
// that.
func (d *disk) written(id uint64) (committed bool) {
	b := d.answered(id)
	if b.parts == nil {
		d.out = nil
		d.clock, d.digest = b.clock, b.digest
		return true
	}
	return d.wrotePart(b)
}

// failed takes the news that what is out is not on disk, and will be tried again. It returns the
// clock of the batch and the last own event in it.
func (d *disk) failed(now time.Time, id uint64) (clock *crdt.Clock, own uint64) {
	b := d.answered(id)
	if b.parts == nil {
		d.out = nil
		d.keep(now, b)
	} else {
		d.again = now.Add(d.limits.retryInterval)
	}
	return b.clock, b.own
}

// answered returns the batch that the disk's answer is about.
func (d *disk) answered(id uint64) *batch {
	if d.out == nil || id != d.id {
		panic(fmt.Sprintf("replicator: batch #%d persisted, #%d is out", id, d.id))
	}
	d.sent = false
	return d.out
}

// keep makes a failed batch the prefix of the next one, which waits a while.
func (d *disk) keep(now time.Time, b *batch) {
	kept := batch{dirty: true, drop: slices.Clone(b.drop), place: make(map[crdt.Dot]int, len(b.put))}
	kept.put = slices.Clone(b.put)
	for i, it := range kept.put {
		kept.place[it.Dot] = i
	}
	kept.follow(&d.next)
	d.next = kept
	d.hold = later(d.hold, now.Add(d.limits.retryInterval))
}

// check returns a broken invariant. The content clock is content.
func (d *disk) check(content *crdt.Clock) error {
	switch {
	case !content.Includes(d.clock):
		return fmt.Errorf("committed %s is not in the content %s", wire.ClockName(d.clock), wire.ClockName(content))
	case d.out == nil && !d.next.dirty && !d.clock.Equal(content):
		return fmt.Errorf("committed %s, content %s, and nothing is on its way", wire.ClockName(d.clock), wire.ClockName(content))
	case d.out != nil && (!d.out.clock.Includes(d.clock) || !content.Includes(d.out.clock)):
		return fmt.Errorf("batch with clock %s between committed %s and content %s",
			wire.ClockName(d.out.clock), wire.ClockName(d.clock), wire.ClockName(content))
	}
	return nil
}
