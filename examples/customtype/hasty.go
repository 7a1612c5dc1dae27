package main

import "github.com/coterie-go/coterie/crdt"

const kindHasty crdt.Kind = 0x83

// Hasty is Votes with a mistake: one item stands for all votes, and of concurrent ones the highest counts.
// Votes of two nodes that have not heard of each other are lost.
type Hasty struct{ Count uint64 }

// HastyTx changes a Hasty within an update.
type HastyTx struct{ tx *crdt.Tx }

// Kind implements crdt.Value.
func (Hasty) Kind() crdt.Kind { return kindHasty }

// Mutator implements crdt.Value.
func (Hasty) Mutator(tx *crdt.Tx) *HastyTx { return &HastyTx{tx} }

// View implements crdt.Value.
func (Hasty) View(r crdt.Reader) (Hasty, error) {
	all, err := read(r, kindHasty)
	var v Hasty
	for _, n := range all {
		v.Count = max(v.Count, n)
	}
	return v, err
}

// Add adds votes.
func (m *HastyTx) Add(n uint64) error {
	v, err := crdt.ViewOf[Hasty](m.tx.Reader())
	if err != nil {
		return err
	}
	return m.tx.Replace(string([]byte{byte(kindHasty)}), payload(v.Count+n))
}
