package replicator

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/head"
	"github.com/coterie-go/coterie/crdt/iblt"
)

// The messages of a repair; what comes first in each is as in wire.go:
//
//	pull     [10, epoch, space, session, content]
//	head     [11, epoch, space, session, clock, digest, items]
//	more     [12, epoch, space, session, key, from, count]
//	cells    [13, epoch, space, session, key, from, cells]                12 bytes a cell, in one byte string
//	want     [14, epoch, space, session, id, what, dots, [size…]]
//	give     [15, epoch, space, session, id, [origin, seq]|null, names|null, [sum…], items]
//	done     [16, epoch, space, session]
//	refuse   [17, epoch, space, session]

// repair encodes the messages of a repair.
func (e *encoder) repair(m Message, begin func(kind int)) {
	switch m := m.(type) {
	case *Pull:
		begin(kindPull)
		e.uints(uint64(m.Space), m.Session)
		e.clock(m.Content)
	case *Head:
		begin(kindHead)
		e.uints(uint64(m.Space), m.Session)
		e.clock(m.Clock)
		e.digest(m.Digest)
		e.uints(m.Items)
	case *MoreCells:
		begin(kindMoreCells)
		e.uints(uint64(m.Space), m.Session, m.Key, uint64(m.From), uint64(m.Count))
	case *Cells:
		begin(kindCells)
		e.uints(uint64(m.Space), m.Session, m.Key, uint64(m.From))
		e.head(head.Bytes, uint64(len(m.Cells)*iblt.CellBytes))
		e.b = iblt.AppendCells(e.b, m.Cells)
	case *FetchItems:
		begin(kindFetchItems)
		e.uints(uint64(m.Space), m.Session, uint64(m.ID), uint64(m.Kind))
		e.clock(m.Dots)
		e.head(head.Array, uint64(len(m.Sizes)))
		e.uints(m.Sizes...)
	case *Items:
		begin(kindItems)
		e.give(m)
	case *Done:
		begin(kindDone)
		e.uints(uint64(m.Space), m.Session)
	case *Refuse:
		begin(kindRefuse)
		e.uints(uint64(m.Space), m.Session)
	default:
		panic(fmt.Sprintf("replicator: message %T has no encoding", m))
	}
}

func (e *encoder) give(m *Items) {
	e.uints(uint64(m.Space), m.Session, uint64(m.ID))
	if m.UpTo == (crdt.Dot{}) {
		e.b = append(e.b, head.Null)
	} else {
		e.head(head.Array, 2)
		e.uints(uint64(m.UpTo.Origin), m.UpTo.Seq)
	}
	e.clock(m.Names)
	e.head(head.Array, uint64(len(m.Sums)))
	for _, s := range m.Sums {
		e.digest(s)
	}
	e.b = crdt.AppendItems(e.b, m.Items)
}

// repair decodes the messages of a repair.
func (d *decoder) repair(kind int, epoch uint64) Message {
	switch kind {
	case kindPull:
		return &Pull{Epoch: epoch, Space: d.space(), Session: d.uint(), Content: d.clock(false)}
	case kindHead:
		return &Head{Epoch: epoch, Space: d.space(), Session: d.uint(), Clock: d.clock(false), Digest: d.digest(), Items: d.uint()}
	case kindMoreCells:
		return &MoreCells{Epoch: epoch, Space: d.space(), Session: d.uint(), Key: d.uint(), From: d.uint32(), Count: d.uint32()}
	case kindCells:
		m := &Cells{Epoch: epoch, Space: d.space(), Session: d.uint(), Key: d.uint(), From: d.uint32()}
		var err error
		if m.Cells, err = iblt.DecodeCells(d.bytes()); err != nil {
			d.fail("%v", err)
		}
		return m
	case kindFetchItems:
		m := &FetchItems{Epoch: epoch, Space: d.space(), Session: d.uint(), ID: d.uint32(), Kind: d.what(), Dots: d.clock(false)}
		for range d.array() {
			if m.Sizes = append(m.Sizes, d.uint()); d.err != nil {
				return m
			}
		}
		return m
	case kindItems:
		return d.give(epoch)
	case kindDone:
		return &Done{Epoch: epoch, Space: d.space(), Session: d.uint()}
	}
	return &Refuse{Epoch: epoch, Space: d.space(), Session: d.uint()}
}

func (d *decoder) give(epoch uint64) *Items {
	m := &Items{Epoch: epoch, Space: d.space(), Session: d.uint(), ID: d.uint32(), UpTo: d.upTo(), Names: d.clock(true)}
	for range d.array() {
		if m.Sums = append(m.Sums, d.digest()); d.err != nil {
			return m
		}
	}
	if d.err != nil {
		return m
	}
	items, rest, err := crdt.CutItems(d.b)
	if err != nil {
		d.fail("%v", err)
		return m
	}
	d.b = rest
	for i := range items {
		m.Items = append(m.Items, &items[i])
	}
	return m
}

// upTo reads a dot, or null for none.
func (d *decoder) upTo() (dot crdt.Dot) {
	if len(d.b) > 0 && d.b[0] == head.Null {
		d.b = d.b[1:]
		return dot
	}
	if d.array() != 2 {
		d.fail("no dot")
	}
	dot = crdt.Dot{Origin: crdt.Origin(d.uint()), Seq: d.uint()}
	if dot.Seq == 0 {
		d.fail("dot without a seq")
	}
	return dot
}

func (d *decoder) what() ItemKind {
	w := d.uint()
	if w >= uint64(kinds) {
		d.fail("what %d", w)
		return 0
	}
	return ItemKind(w)
}
