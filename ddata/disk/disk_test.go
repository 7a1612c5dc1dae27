package disk

import (
	"errors"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// The store tells the node what it did.
func TestStoreIsObserved(t *testing.T) {
	var heard []events.Event
	tell := told(func(e events.Event) { heard = append(heard, e) })
	failed := errors.New("failed")
	tell(lmdb.MapGrown{File: "f", From: 1, To: 2})
	tell(lmdb.Compacted{File: "f", Before: 2, After: 1, Err: failed})
	tell(lmdb.CommitFailed{Dir: "d", Batches: 1, Err: failed})
	want := []events.Event{
		events.StoreGrown{File: "f", From: 1, To: 2}, events.StoreCompacted{
			File: "f", Before: 2, After: 1, Err: failed,
		},
	}
	if !slices.Equal(heard, want) {
		t.Errorf("the node heard %v", heard)
	}
}
