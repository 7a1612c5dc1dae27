package storage

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// parts is how far a batch is written that is larger than one transaction should be: after a
// repair, or when the disk has failed for a while. No other batch goes out meanwhile. Rows and
// clock stay of one moment (R3), because each part says which rows count:
//
//		marking ──────► putting ──the last of it, with clock and digest──► dropping ──────► written
//		(the rows within the old clock count)                      (but those marked count)
//
//	 1. The names of the rows that will be dropped are written beside the rows; a few of them need no names, and are dropped with the clock.
//	 2. The new rows are put. They are outside of the old clock, which says nothing of them.
//	 3. With the last of them go the new clock and its digest: the batch is committed. The names say what does not count any more.
//	 4. What is named is dropped, and at last the names.
//
// A crash before 3 leaves the old state and one after it the new one, both whole, with rows that do
// not count; they are dropped after the start, before anything else is written. Only a union (R5)
// puts rows within the old clock; each of them counts at once, as does each item that is united.
type parts struct {
	seen                 int         // of the batch's drops, for puts over them
	marked, put, dropped int         // of the batch's drops, puts and drops
	marks                int         // rows with names
	counts               Counts      // of the rows, until all is written
	sum                  crdt.Digest // of the rows that count, before the commit

	under map[crdt.Dot]crdt.Digest // of rows on disk that a put replaces; it does not change
}

// itemCost is what an item's row costs beside key, path and payload, more or less.
const itemCost = 64

// Cost is about what the row of an item takes, in bytes.
func Cost(it *crdt.Item) int { return itemCost + len(it.Key) + len(it.Path) + len(it.Payload) }

// large reports whether a batch has to be cut.
func (d *Writer) large(b *batch) bool {
	return b.size() > d.limits.RowsMax || b.bytes > d.limits.BytesMax && b.put.len() > 1
}

// cutMost bounds the rows that one step looks at: before the first part, and for one part.
const cutMost = 1 << 13

// cut looks for drops that a union has brought back: the put is over the old row. It reports whether
// it has looked at all.
func (d *Writer) cut(b *batch) (done bool) {
	p := b.parts
	for end := min(b.gone.n, p.seen+cutMost); p.seen < end; p.seen++ {
		old := b.gone.at(p.seen)
		if _, again := b.place[old.Dot]; !again {
			continue
		}
		if p.under == nil {
			p.under = map[crdt.Dot]crdt.Digest{}
		}
		p.under[old.Dot] = d.sum(old)
		b.gone.blank(p.seen)
	}
	if done = p.seen == b.gone.n; done {
		b.place = nil
	}
	return done
}

// resume goes on where a crash has cut a batch: what does not count is dropped.
func (d *Writer) resume(t PartialBatch) {
	if t.Counts == AllRows {
		return
	}
	d.out = &batch{clock: d.clock, digest: d.digest, parts: &parts{marks: t.Marks, counts: t.Counts}}
	for _, dot := range t.Drop {
		d.out.gone.add(&crdt.Item{Dot: dot})
	}
	d.out.parts.put, d.out.parts.seen = isCommitted, d.out.gone.n
}

// isCommitted in place of the puts says that the clock is on disk.
const isCommitted = -1

// part makes the next part.
func (d *Writer) part(b *batch) Batch {
	p, most := *b.parts, min(d.limits.RowsMax, cutMost)
	defer func() { b.after = p }()
	switch {
	case p.put == isCommitted:
		return p.clear(b, most)
	case p.marked < b.gone.n && b.gone.len() > most:
		names, next := b.gone.dots(p.marked, most)
		slices.SortFunc(names, crdt.Dot.Compare)
		p.marked = next
		p.marks++
		mark := &crdt.Clock{}
		for _, dot := range names {
			mark.Add(dot)
		}
		return Batch{Mark: mark, MarkNo: p.marks, Clock: d.clock, Digest: p.sum, Counts: Covered}
	}
	out := Batch{Clock: b.clock, Digest: b.digest}
	out.Put, p.put = b.put.take(p.put, most, d.limits.BytesMax)
	switch {
	case p.put < b.put.n || p.marks == 0 && len(out.Put)+b.gone.len() > most:
		for _, it := range out.Put {
			if d.clock.Has(it.Dot) {
				p.sum = p.sum.Plus(d.sum(it)).Minus(p.under[it.Dot])
			}
		}
		out.Clock, out.Digest, out.Counts = d.clock, p.sum, Covered
	case p.marks == 0:
		out.Drop, p.dropped = b.gone.dots(0, b.gone.n)
		p.put = isCommitted
	default:
		out.Counts, p.counts, p.put = Unmarked, Unmarked, isCommitted
	}
	return out
}

// clear makes the next part once the clock is on disk.
func (p *parts) clear(b *batch, most int) Batch {
	out := Batch{Clock: b.clock, Digest: b.digest, Counts: p.counts}
	if out.Drop, p.dropped = b.gone.dots(p.dropped, most); p.dropped == b.gone.n {
		out.Counts, out.Unmark = AllRows, p.marks
		p.marks = 0
	}
	return out
}

// wrotePart goes on after a part that was written, and reports whether that was the commit.
func (d *Writer) wrotePart(b *batch) (commit bool) {
	was := b.parts.put
	*b.parts = b.after
	if commit = was != isCommitted && b.parts.put == isCommitted; commit {
		d.clock, d.digest = b.clock, b.digest
	}
	if b.parts.put == isCommitted && b.parts.dropped == b.gone.n && b.parts.marks == 0 {
		d.out = nil
	}
	return commit
}
