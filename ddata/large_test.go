package ddata_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

var blob = ddata.NewKey[crdt.LWWRegister[[]byte]]("blob")

// What travels in many frames arrives as it was sent: each node reads the very bytes that all have
// acknowledged.
func TestLargeValuesArriveUnchanged(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 2 {
		value := make([]byte, 1<<20-100)
		for j := range value {
			value[j] = byte(rng.Uint32())
		}
		put := func(tx *crdt.LWWRegisterTx[[]byte]) error { return tx.Put(value) }
		if err := ddata.Update(ctx, replica(t, nodes[i%3]), blob, ddata.WriteAll, put); err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			got, err := ddata.Get(ctx, replica(t, n), blob, ddata.ReadLocal)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := got.Get(); !bytes.Equal(b, value) {
				t.Errorf("value %d is not what was written on node %v", i, n.UID())
			}
		}
	}
}

// An update of many frames reaches all.
func TestLargeUpdatesArriveWhole(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	const each = 20_000
	for i := range 3 {
		err := ddata.Update(ctx, replica(t, nodes[i]), names, ddata.WriteAll, func(tx *crdt.ORSetTx[string]) error {
			for j := range each {
				if err := tx.Add(fmt.Sprintf("%d-%d", i, j)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			set, err := ddata.Get(ctx, replica(t, n), names, ddata.ReadLocal)
			if err != nil {
				t.Fatal(err)
			}
			if set.Len() != (i+1)*each || !set.Contains(fmt.Sprintf("%d-%d", i, each-1)) {
				t.Errorf("node %v has %d elements of %d", n.UID(), set.Len(), (i+1)*each)
			}
		}
	}
}
