package ddata

import (
	"errors"
	"testing"

	"github.com/coterie-go/coterie/replicator"
)

// What comes when its caller has given up holds up nobody, and the next caller does not get it.
func TestAResultThatComesTooLateMeetsNobody(t *testing.T) {
	w := waiters.New().(*waiter)
	w.late.Reset(0)
	res := <-w.ch
	if !errors.Is(res.Err, replicator.ErrTimeout) {
		t.Fatal(res.Err)
	}
	w.took(res)
	w.done(replicator.Result{ID: 1})
	w.done(replicator.Result{ID: 2})
	if next := waiters.Get().(*waiter); next == w {
		t.Error("the next caller waits with the same")
	}
}
