package batch

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// holdLoop has the loop of a client wait in the done of a write, until the function that it returns is
// called. What is asked for meanwhile stays in front of the loop. A client that closes answers the
// write at once; one that does not, when the store has it.
func (w *world) holdLoop(end func()) (letGo func()) {
	hold, held := make(chan struct{}), make(chan struct{})
	w.c.Append(hostingOn(1, 1), writeOf("holds", 0, "x"), func(error) {
		close(held)
		<-hold
		end()
	})
	<-held
	return func() { close(hold) }
}

// TestTooLateForTheLoop stops the loop of a client that is closing while two writes wait in
// front of it: no step sees them, and they hear that the client is closed.
func TestTooLateForTheLoop(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		hung, over := make(chan struct{}), make(chan error, 1)
		w.store.Before(func(context.Context, string) error { <-hung; return nil })
		got := make(chan error, 3)
		done := func(err error) { got <- err }
		w.c.Append(hostingOn(1, 1), writeOf("under way", 0, "x"), done)
		synctest.Wait()
		go func() { over <- w.c.Close(context.Background()) }() // waits for the call that hangs
		wantErr(t, <-got, ErrClosed)
		letGo := w.holdLoop(func() {})
		w.c.Append(hostingOn(1, 1), writeOf("late", 0, "x"), done)
		w.c.SaveState(hostingOn(1, 1), persistence.StateWrite{Entity: "late"}, done)
		close(hung)
		synctest.Wait() // Close has stopped the loop, and waits for its last step
		if len(over)+len(got) > 0 {
			t.Fatal("Close has not waited for the loop")
		}
		letGo()
		wantErr(t, <-over, nil)
		synctest.Wait()
		if len(got) != 2 {
			t.Fatalf("%d of 2 are answered", len(got))
		}
		wantErr(t, <-got, ErrClosed)
		wantErr(t, <-got, ErrClosed)
	})
}

// TestBrokenWithOthersInFront has a step panic while writes wait in front of the loop, and behind the
// step in what the loop has taken up: they hear of it.
func TestBrokenWithOthersInFront(t *testing.T) {
	for name, panics := range map[string]bool{"in front": true, "taken up": false} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t, Settings{})
				got := make(chan error, 2)
				letGo := w.holdLoop(func() {
					if panics {
						panic("out of order")
					}
				})
				if !panics {
					w.c.loop.Force(calls.Submit{Op: &calls.Op{}}) // of no request: its step panics
				}
				for _, id := range []protocol.EntityID{"a", "b"} {
					w.c.Append(hostingOn(1, 1), writeOf(id, 0, "x"), func(err error) { got <- err })
				}
				letGo()
				synctest.Wait()
				if len(got) != 2 {
					t.Fatalf("%d of 2 are answered", len(got))
				}
				wantErr(t, <-got, ErrBroken)
				wantErr(t, <-got, ErrBroken)
				w.close()
			})
		})
	}
}
