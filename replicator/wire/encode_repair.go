package wire

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/replicator/repair"
)

// The messages of a repair; what comes first in each is as in encode.go:
//
//	pull     [10, epoch, space, session, content]
//	head     [11, epoch, space, session, clock, digest, items]
//	more     [12, epoch, space, session, key, from, count]
//	cells    [13, epoch, space, session, key, from, cells]                12 bytes a cell, in one byte string
//	want     [14, epoch, space, session, id, what, dots, [size…]]
//	give     [15, epoch, space, session, id, [origin, seq]|null, names|null, [sum…], items]
//	done     [16, epoch, space, session]
//	refuse   [17, epoch, space, session]

// appendRepair appends the messages of a repair.
func appendRepair(m Message, begin func(kind int) []byte) []byte {
	switch m := m.(type) {
	case *Pull:
		return appendClock(cbor.AppendUints(begin(kindPull), uint64(m.Space), m.Session), m.Content)
	case *Head:
		b := appendClock(cbor.AppendUints(begin(kindHead), uint64(m.Space), m.Session), m.Clock)
		return cbor.AppendUint(appendDigest(b, m.Digest), m.Items)
	case *MoreCells:
		return cbor.AppendUints(begin(kindMoreCells), uint64(m.Space), m.Session, m.Key,
			uint64(m.From), uint64(m.Count))
	case *Cells:
		b := cbor.AppendUints(begin(kindCells), uint64(m.Space), m.Session, m.Key, uint64(m.From))
		return iblt.AppendCells(cbor.AppendBytesHead(b, len(m.Cells)*iblt.CellBytes), m.Cells)
	case *FetchItems:
		b := cbor.AppendUints(begin(kindFetchItems), uint64(m.Space), m.Session, uint64(m.ID), uint64(m.Kind))
		b = cbor.AppendArray(appendClock(b, m.Dots), len(m.Sizes))
		return cbor.AppendUints(b, m.Sizes...)
	case *Items:
		return appendItems(begin(kindItems), m)
	case *Done:
		return cbor.AppendUints(begin(kindDone), uint64(m.Space), m.Session)
	case *Refuse:
		return cbor.AppendUints(begin(kindRefuse), uint64(m.Space), m.Session)
	}
	panic(fmt.Sprintf("replicator: message %T has no encoding", m))
}

func appendItems(dst []byte, m *Items) []byte {
	dst = cbor.AppendUints(dst, uint64(m.Space), m.Session, uint64(m.ID))
	if m.UpTo == (crdt.Dot{}) {
		dst = cbor.AppendNull(dst)
	} else {
		dst = cbor.AppendUints(cbor.AppendArray(dst, 2), uint64(m.UpTo.Origin), m.UpTo.Seq)
	}
	dst = cbor.AppendArray(appendClock(dst, m.Names), len(m.Sums))
	for _, s := range m.Sums {
		dst = appendDigest(dst, s)
	}
	return crdt.AppendItems(dst, m.Items)
}

// readRepair reads the messages of a repair.
func readRepair(r *cbor.Reader, kind int, epoch uint64) Message {
	switch kind {
	case kindPull:
		return &Pull{Epoch: epoch, Space: readSpace(r), Session: r.Uint(), Content: dots.Read(r)}
	case kindHead:
		return &Head{
			Epoch: epoch, Space: readSpace(r), Session: r.Uint(), Clock: dots.Read(r),
			Digest: readDigest(r), Items: r.Uint(),
		}
	case kindMoreCells:
		return &MoreCells{
			Epoch: epoch, Space: readSpace(r), Session: r.Uint(), Key: r.Uint(), From: r.Uint32(), Count: r.Uint32(),
		}
	case kindCells:
		m := &Cells{Epoch: epoch, Space: readSpace(r), Session: r.Uint(), Key: r.Uint(), From: r.Uint32()}
		var err error
		if m.Cells, err = iblt.DecodeCells(r.Bytes(cbor.Any)); err != nil {
			r.Fail("%w", err)
		}
		return m
	case kindFetchItems:
		m := &FetchItems{
			Epoch: epoch, Space: readSpace(r), Session: r.Uint(), ID: r.Uint32(),
			Kind: repair.Kind(r.UintMax(uint64(repair.Kinds) - 1)), Dots: dots.Read(r),
		}
		for range r.Array(cbor.Any) {
			if m.Sizes = append(m.Sizes, r.Uint()); r.Err() != nil {
				return m
			}
		}
		return m
	case kindItems:
		return readItems(r, epoch)
	case kindDone:
		return &Done{Epoch: epoch, Space: readSpace(r), Session: r.Uint()}
	}
	return &Refuse{Epoch: epoch, Space: readSpace(r), Session: r.Uint()}
}

func readItems(r *cbor.Reader, epoch uint64) *Items {
	m := &Items{
		Epoch: epoch, Space: readSpace(r), Session: r.Uint(), ID: r.Uint32(), UpTo: readUpTo(r),
		Names: readClockOrNull(r),
	}
	for range r.Array(cbor.Any) {
		if m.Sums = append(m.Sums, readDigest(r)); r.Err() != nil {
			return m
		}
	}
	items := crdt.ReadItems(r)
	for i := range items {
		m.Items = append(m.Items, &items[i])
	}
	return m
}

// readUpTo reads a dot, or null for none.
func readUpTo(r *cbor.Reader) (dot crdt.Dot) {
	if r.Null() {
		return dot
	}
	r.Tuple(2)
	dot = crdt.Dot{Origin: crdt.Origin(r.Uint()), Seq: r.Uint()}
	if dot.Seq == 0 {
		r.Fail("dot without a seq")
	}
	return dot
}
