package push

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

func TestEncodingsOfOwnGroupsStandBesideEachOther(t *testing.T) {
	var o Outbox
	made := map[string][]byte{}
	r := crdt.NewReplica(1, crdt.StoreOptions{})
	var ch crdt.Changes
	for i := range 2000 {
		size := 1
		if i%500 == 0 {
			size = chunkBytes // too large to share
		}
		g, err := r.Update("k", 0, func(tx *crdt.Tx) error { return tx.Put("p", strings.Repeat("x", size), nil) }, &ch)
		if err != nil {
			t.Fatal(err)
		}
		enc := o.encode(g)
		made[string(enc)] = enc
		if len(made) != i+1 {
			t.Fatal("two groups have one encoding")
		}
	}
	for want, enc := range made {
		if string(enc) != want {
			t.Fatal("an encoding has changed")
		}
	}
}
