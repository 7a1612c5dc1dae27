package proptest_test

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// Highest is a type of one's own: a number that only rises, as a high-water mark does. One item
// stands for it; concurrent items stay as siblings, of which the view reads the highest.
type Highest struct{ n uint64 }

// HighestTx changes a Highest within an update.
type HighestTx struct{ tx *crdt.Tx }

const kindHighest crdt.Kind = 0x80

func (Highest) Kind() crdt.Kind { return kindHighest }

func (Highest) Mutator(tx *crdt.Tx) *HighestTx { return &HighestTx{tx} }

func (Highest) View(r crdt.Reader) (Highest, error) {
	if err := r.CheckKind(kindHighest); err != nil {
		return Highest{}, err
	}
	var h Highest
	for it := range r.Items("") {
		if len(it.Payload) != 8 {
			return Highest{}, crdt.ErrTypeClash
		}
		h.n = max(h.n, binary.BigEndian.Uint64([]byte(it.Payload)))
	}
	return h, nil
}

// Raise lifts the mark to n, if it is lower.
func (m *HighestTx) Raise(n uint64) error {
	now, err := crdt.ViewOf[Highest](m.tx.Reader())
	if err != nil || n <= now.n {
		return err
	}
	return m.tx.Replace(string([]byte{byte(kindHighest)}), string(binary.BigEndian.AppendUint64(nil, n)))
}

// highestLaws is what Highest is held to: after some raises, wherever they were made, the mark is
// at the highest of them.
var highestLaws = proptest.Laws[Highest, *HighestTx, uint64]{
	Op:    rapid.Uint64Range(0, 5),
	Do:    (*HighestTx).Raise,
	Value: func(h Highest) any { return h.n },
	Model: func(h proptest.History[uint64]) any {
		mark := uint64(0)
		for raise := range h.All() {
			mark = max(mark, raise.Op)
		}
		return mark
	},
}

// A type of one's own is held to the laws in a test:
func ExampleLaws() {
	_ = func(t *testing.T) { highestLaws.Check(t) }
}
