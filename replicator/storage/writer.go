package storage

import (
	"fmt"
	"math"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Writer is how the durable space gets to its rows: one batch is out at a time, what happens
// meanwhile gathers in the next.
//
// Invariants: clock ⊆ out.clock ⊆ the content clock; next holds all that the content has and out,
// or without one clock, has not, unless it is held.
type Writer struct {
	limits Limits
	sum    func(*crdt.Item) crdt.Digest // the store's hash of an item

	clock  *crdt.Clock // what is committed; it is replaced, never changed
	digest crdt.Digest // of the rows that count
	out    *batch      // being written; nil: none
	sent   bool        // the disk owes an answer; else out is in parts, and the next of them is due
	next   batch
	id     uint64
	held   bool      // no batch begins: next lacks some of what the content has
	hold   time.Time // no batch goes out before: the last has failed, or was sent less than WriteBehind ago
	again  time.Time // no part of out goes out before: the last has failed
}

// NewWriter makes a writer of an empty disk. sum is the hash by which the digest counts an item.
func NewWriter(limits Limits, sum func(*crdt.Item) crdt.Digest) Writer {
	return Writer{limits: limits, sum: sum, clock: &crdt.Clock{}}
}

// Load takes over what the rows held at start. If a crash has cut a batch, it goes on there.
func (d *Writer) Load(clock *crdt.Clock, digest crdt.Digest, partial PartialBatch) {
	d.clock, d.digest = clock, digest
	d.resume(partial)
}

// Committed returns the clock that is on disk. It is replaced, never changed.
func (d *Writer) Committed() *crdt.Clock { return d.clock }

// LastID returns the number of the last batch, or part of one, that went out.
func (d *Writer) LastID() uint64 { return d.id }

// Fold adds what one call of the store did to the next batch.
func (d *Writer) Fold(put, dropped []*crdt.Item) { d.next.fold(put, dropped) }

// Hold says whether changes of the content are still to be folded. Until they are, no batch begins.
func (d *Writer) Hold(held bool) {
	d.held = held
	d.next.dirty = d.next.dirty || held
}

// Limits are the settings of a Writer; settings.Config names them.
type Limits struct {
	RowsMax, BytesMax          int
	WriteBehind, RetryInterval time.Duration
}

// State is what a batch is to bring to the disk, at the moment at which it goes out.
type State struct {
	Clock  *crdt.Clock // kept; it must not change any more
	Digest crdt.Digest
	Seq    uint64 // of the last own event
}

// batch gathers what becomes one transaction.
type batch struct {
	dirty bool             // there is something to write, if only the clock
	put   rows             // blank: dropped again before it was written
	bytes int              // what the rows of put take
	place map[crdt.Dot]int // of an item in put
	gone  rows             // what rows of earlier batches hold, to be dropped; blank: a put is over it

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
		b.place[it.Dot] = b.put.n
		b.put.add(it)
		b.bytes += Cost(it)
	}
	for _, it := range dropped {
		b.dropRow(it)
	}
}

func (b *batch) dropRow(it *crdt.Item) {
	if i, ok := b.place[it.Dot]; ok {
		b.bytes -= Cost(b.put.at(i))
		b.put.blank(i)
		delete(b.place, it.Dot)
		return
	}
	b.gone.add(it)
}

// size counts the rows that it changes.
func (b *batch) size() int { return b.put.len() + b.gone.len() }

// follow adds a later batch to a failed one, which stays its prefix (R3).
func (b *batch) follow(next *batch) {
	for i := range next.gone.n {
		b.dropRow(next.gone.at(i))
	}
	put, _ := next.put.take(0, next.put.n, math.MaxInt)
	b.fold(put, nil)
}

// Due says when there is something for the disk to do, if there is.
func (d *Writer) Due() (time.Time, bool) {
	if d.out != nil {
		return d.again, !d.sent
	}
	return d.hold, d.next.dirty && !d.held
}

// Ready reports whether it is time for the disk to do something.
func (d *Writer) Ready(now time.Time) bool {
	at, any := d.Due()
	return any && !now.Before(at)
}

// Advance returns the next batch for the disk, or the next part of the one that is being written,
// unless it needs to be called again for that: it does a bounded part of the work. It is called only
// when the Writer is Ready.
func (d *Writer) Advance(now time.Time, st State) (out Batch, ok bool) {
	if d.out == nil {
		d.begin(now, st)
	}
	b := d.out
	switch {
	case b.parts == nil:
		out.Drop, _ = b.gone.dots(0, b.gone.n)
		out.Put, _ = b.put.take(0, b.put.n, math.MaxInt)
		out.Clock, out.Digest = b.clock, b.digest
	case !d.cut(b):
		return Batch{}, false
	default:
		out = d.part(b)
	}
	d.id++
	out.ID, out.Space = d.id, keyspace.Durable
	b.own, d.sent = st.Seq, true
	return out, true
}

// begin makes a batch of what has gathered.
func (d *Writer) begin(now time.Time, st State) {
	b := d.next
	d.next = batch{}
	if d.large(&b) {
		b.parts = &parts{counts: Covered, sum: d.digest}
	} else {
		b.place = nil
	}
	b.clock, b.digest = st.Clock, st.Digest
	d.out = &b
	d.hold, d.again = now.Add(d.limits.WriteBehind), time.Time{}
}

// Written takes the news that what is out is on disk, and reports whether a clock was committed by
// that.
func (d *Writer) Written(id uint64) (committed bool) {
	b := d.answered(id)
	if b.parts == nil {
		d.out = nil
		d.clock, d.digest = b.clock, b.digest
		return true
	}
	return d.wrotePart(b)
}

// Failed takes the news that what is out is not on disk, and will be tried again. It returns the
// clock of the batch and the last own event in it.
func (d *Writer) Failed(now time.Time, id uint64) (clock *crdt.Clock, own uint64) {
	b := d.answered(id)
	if b.parts == nil && !d.large(&d.next) {
		d.out = nil
		d.keep(now, b)
	} else { // it is one of several transactions in any case
		d.again = now.Add(d.limits.RetryInterval)
	}
	return b.clock, b.own
}

// answered returns the batch that the disk's answer is about.
func (d *Writer) answered(id uint64) *batch {
	if d.out == nil || id != d.id {
		panic(fmt.Sprintf("replicator: batch #%d persisted, #%d is out", id, d.id))
	}
	d.sent = false
	return d.out
}

// keep makes a failed batch the prefix of the next one, which waits a while.
func (d *Writer) keep(now time.Time, b *batch) {
	kept := batch{dirty: true, gone: b.gone}
	put, _ := b.put.take(0, b.put.n, math.MaxInt)
	kept.fold(put, nil)
	kept.follow(&d.next)
	d.next = kept
	if at := now.Add(d.limits.RetryInterval); d.hold.Before(at) {
		d.hold = at
	}
}

// Check returns a broken invariant. The content clock is content.
func (d *Writer) Check(content *crdt.Clock) error {
	switch {
	case !content.Includes(d.clock):
		return fmt.Errorf("committed %v is not in the content %v", d.clock, content)
	case d.out == nil && !d.next.dirty && !d.clock.Equal(content):
		return fmt.Errorf("committed %v, content %v, and nothing is on its way", d.clock, content)
	case d.out != nil && (!d.out.clock.Includes(d.clock) || !content.Includes(d.out.clock)):
		return fmt.Errorf("batch with clock %v between committed %v and content %v",
			d.out.clock, d.clock, content)
	}
	return nil
}
