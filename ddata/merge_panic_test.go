package ddata_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// rash is a type of a user's whose Merge panics.
type rash struct{ X int }

func (rash) Kind() crdt.Kind { return crdt.KindUser + 9 }
func (rash) Merge(rash) rash { panic("rash") }

// A Merge of the user's that panics is an error of the read, of the update, and of the
// subscription, which goes on. Other keys do not notice.
func TestMergePanics(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	r, ctx := replica(t, n), testContext(t)
	key := ddata.NewKey[crdt.Whole[rash]]("k")
	demand := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, crdt.ErrPanic) || !strings.Contains(err.Error(), `"k"`) ||
			!strings.Contains(err.Error(), "ddata_test.rash.Merge: rash") {
			t.Errorf("%s: %v", what, err)
		}
	}
	put := func(tx *crdt.WholeTx[rash]) error { return tx.Put(rash{1}) }
	if err := ddata.Update(ctx, r, key, ddata.WriteMajority, put); err != nil {
		t.Fatal(err)
	}
	demand("a second put", ddata.Update(ctx, r, key, ddata.WriteMajority, put))
	err := r.Update(ctx, "k", ddata.WriteMajority, func(tx *crdt.Tx) error { // as one that was concurrent
		return tx.Put(rash{}.Kind().Path(), "\xa1\x61X\x02", nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []ddata.ReadLevel{ddata.ReadLocal, ddata.ReadMajority, ddata.ReadLinearizable} {
		_, err = ddata.Get(ctx, r, key, level)
		demand("a read", err)
	}
	demand("an update", ddata.Update(ctx, r, key, ddata.WriteMajority, func(*crdt.WholeTx[rash]) error { return nil }))
	for c, err := range ddata.Watch(ctx, r, key) {
		if c.Deleted {
			break
		}
		demand("a subscription", err)
		if err := ddata.Delete(ctx, r, key, ddata.WriteMajority); err != nil {
			t.Fatal(err)
		}
	}
	if err := ddata.Update(ctx, r, key, ddata.WriteMajority, put); err != nil {
		t.Errorf("after the key was deleted: %v", err)
	}
}
