package disk

import (
	"errors"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// The store tells the node, and the observer of the configuration after it.
func TestStoreIsObserved(t *testing.T) {
	var told []events.Event
	users := 0
	o := observed(lmdb.Observer{MapGrown: func(lmdb.MapGrown) { users++ }, Compacted: func(lmdb.Compacted) { users++ }},
		func(e events.Event) { told = append(told, e) })
	failed := errors.New("failed")
	o.MapGrown(lmdb.MapGrown{File: "f", From: 1, To: 2})
	o.Compacted(lmdb.Compacted{File: "f", Before: 2, After: 1, Err: failed})
	want := []events.Event{
		events.StoreGrown{File: "f", From: 1, To: 2}, events.StoreCompacted{
			File: "f", Before: 2, After: 1, Err: failed,
		},
	}
	if !slices.Equal(told, want) || users != 2 {
		t.Errorf("%v, and the user %d times", told, users)
	}
}
