package main

import (
	"encoding/binary"

	"github.com/coterie-go/coterie/crdt"
)

const kindVotes crdt.Kind = 0x82

// Votes is how many votes there are. One item stands for the votes of each origin, so no two origins write
// the same item.
type Votes struct{ Count uint64 }

// VotesTx changes Votes within an update.
type VotesTx struct{ tx *crdt.Tx }

// Kind implements crdt.Value.
func (Votes) Kind() crdt.Kind { return kindVotes }

// Mutator implements crdt.Value.
func (Votes) Mutator(tx *crdt.Tx) *VotesTx { return &VotesTx{tx} }

// View implements crdt.Value. It adds up the items.
func (Votes) View(r crdt.Reader) (Votes, error) {
	all, err := read(r, kindVotes)
	var v Votes
	for _, n := range all {
		v.Count += n
	}
	return v, err
}

// Add adds votes of this node.
func (m *VotesTx) Add(n uint64) error {
	path := string(binary.BigEndian.AppendUint64([]byte{byte(kindVotes)}, uint64(m.tx.Origin())))
	for _, it := range m.tx.At(path) {
		n += binary.BigEndian.Uint64([]byte(it.Payload))
	}
	return m.tx.Replace(path, payload(n))
}

func payload(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// read returns the numbers of all items.
func read(r crdt.Reader, kind crdt.Kind) (all []uint64, err error) {
	if err := r.CheckKind(kind); err != nil {
		return nil, err
	}
	for it := range r.Items("") {
		if len(it.Payload) != 8 {
			return nil, crdt.ErrTypeClash
		}
		all = append(all, binary.BigEndian.Uint64([]byte(it.Payload)))
	}
	return all, nil
}
