package ddata

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/operation"
)

// A result that comes after its caller has given up blocks nothing, and the next caller does not
// get it.
func TestAResultThatComesTooLateMeetsNobody(t *testing.T) {
	r := &Replicator{}
	w := r.waiters.get()
	w.late.Reset(0)
	res := <-w.ch
	if !errors.Is(res.Err, operation.ErrTimeout) {
		t.Fatal(res.Err)
	}
	r.took(w, res)
	w.done(effect.Result{ID: 1})
	w.done(effect.Result{ID: 2})
	if next := r.waiters.get(); next == w {
		t.Error("the next caller waits with the same")
	}
}

// What sees the state with which an update is answered runs only while its caller waits.
func TestNothingIsShownWhenTheCallerHasGone(t *testing.T) {
	r := &Replicator{}
	shown := 0
	w := r.waiters.get()
	w.Show(func(crdt.Reader) { shown++ })
	w.done(effect.Result{ID: 1, Err: ErrClosed})
	w.done(effect.Result{ID: 1, Read: true})
	if shown != 1 {
		t.Fatalf("shown %d times, want once", shown)
	}
	r.took(w, <-w.ch)
	w.done(effect.Result{ID: 1, Read: true})
	if shown != 1 {
		t.Error("shown after the caller has gone")
	}
}
