package crdt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

var errRash = errors.New("rash")

// rash is a type of a user's whose Merge panics unless both sides are alike.
type rash struct{ X int }

func (rash) Kind() crdt.Kind { return crdt.KindUser + 9 }
func (r rash) Merge(o rash) rash {
	if r != o {
		panic(errRash)
	}
	return r
}

// rashView is a data type of a user's whose View panics.
type rashView struct{}

func (rashView) Kind() crdt.Kind                    { return crdt.KindUser + 9 }
func (rashView) View(crdt.Reader) (rashView, error) { panic(errRash) }
func (rashView) Mutator(*crdt.Tx) func()            { return nil }
func updating[V crdt.Value[V, T], T any](fn func(T) error) func(*crdt.Tx) error {
	return crdt.Mutate[V](fn)
}

// A Merge of the user's that panics is an error of the read or of the write, with the key and the
// type. Nothing is written then, and the replica goes on.
func TestMergePanics(t *testing.T) {
	demand := func(what string, err error, of string) {
		t.Helper()
		if !errors.Is(err, crdt.ErrPanic) || !errors.Is(err, errRash) || !strings.Contains(err.Error(), `key "k"`) ||
			!strings.Contains(err.Error(), of) {
			t.Errorf("%s: %v", what, err)
		}
	}
	put := func(r *crdt.Replica, x int) (crdt.Group, error) {
		put := func(w *crdt.WholeTx[rash]) error { return w.Put(rash{x}) }
		return r.Update("k", 0, updating[crdt.Whole[rash]](put), nil)
	}
	a, b := crdt.NewReplica(1, crdt.StoreOptions{}), crdt.NewReplica(2, crdt.StoreOptions{})
	if _, err := put(a, 1); err != nil {
		t.Fatal(err)
	}
	_, err := a.Update("k", 0, updating[crdt.Whole[rash]](func(w *crdt.WholeTx[rash]) error {
		err := w.Put(rash{2})
		demand("a put", err, "crdt_test.rash.Merge")
		return nil
	}), nil)
	if v, readErr := crdt.ViewOf[crdt.Whole[rash]](a.Store().View("k")); err != nil || readErr != nil {
		t.Errorf("after the put: %v; %v", err, readErr)
	} else if s, ok := v.Get(); s != (rash{1}) || !ok {
		t.Errorf("after the put: %v", s)
	}
	late, err := put(b, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(late, nil); err != nil {
		t.Fatal(err)
	}
	_, err = crdt.ViewOf[crdt.Whole[rash]](a.Store().View("k"))
	demand("a read", err, "crdt_test.rash.Merge")
	_, err = put(a, 4)
	demand("an update", err, "crdt_test.rash.Merge")
	_, err = crdt.ViewOf[rashView](a.Store().View("k"))
	demand("a read by a View of the user's", err, "crdt_test.rashView.View")
	if _, err := a.Update("k", 0, func(tx *crdt.Tx) error { _, err := tx.RemoveAll(""); return err }, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := put(a, 5); err != nil {
		t.Errorf("after a removal: %v", err)
	}
}
