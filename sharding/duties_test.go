package sharding

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// Questions that handlers have taken and forgotten are not kept: what is open stays below twice
// what may be open in truth.
func TestForgottenDutiesAreNotKept(t *testing.T) {
	d := duties{patience: time.Second}
	now := time.Duration(0)
	for i := range uint64(10_000) { // a hundred within the time that counts
		now += 10 * time.Millisecond
		d.take(duty{call: i + 1}, now)
		if n := len(d.open); n > 300 {
			t.Fatalf("%d are kept", n)
		}
	}
}

// To wait for answers ends with the last of them, with the time of the last, or with the context.
func TestAwaitDuties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		d := duties{patience: time.Minute}
		if old, err := d.await(t.Context(), clock); len(old) > 0 || err != nil {
			t.Errorf("none is open: %v, %v", old, err)
		}
		d.take(duty{1, 7}, 0)
		d.take(duty{2, 7}, 0)
		time.AfterFunc(time.Second, func() { d.settle(duty{1, 7}) })
		time.AfterFunc(2*time.Second, func() { d.settle(duty{2, 7}) })
		if old, err := d.await(t.Context(), clock); len(old) > 0 || err != nil || clock() != 2*time.Second {
			t.Errorf("after %v: %v, %v", clock(), old, err)
		}
		d.take(duty{3, 7}, clock())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.await(ctx, clock); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context has ended: %v", err)
		}
		old, err := d.await(t.Context(), clock)
		if len(old) != 1 || old[0] != (duty{3, 7}) || err != nil || clock() != 62*time.Second {
			t.Errorf("after %v: %v, %v", clock(), old, err)
		}
	})
}

// The farewell of a node that is no member is not kept, and that of a member no longer than it is
// one.
func TestFarewellsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.join("backend"), w.join("backend")
		g := start(a, cartType(&cartLog{}))
		start(b, cartType(&cartLog{}))
		w.install()
		kept := func() (n int) {
			g.core.departed.Range(func(any, any) bool { n++; return true })
			return n
		}
		g.core.Receive(77, appendFarewell(nil))
		if n := kept(); n != 0 {
			t.Errorf("%d farewells of strangers are kept", n)
		}
		g.core.Receive(transport.NodeID(b.UID()), appendFarewell(nil))
		if n := kept(); n != 1 {
			t.Errorf("%d farewells of members are kept, want 1", n)
		}
		b.gone = true
		w.install()
		if n := kept(); n != 0 {
			t.Errorf("%d farewells are kept of a node that is gone", n)
		}
		if d := g.core.stats().Drops; len(d) > 0 {
			t.Errorf("dropped %v", d)
		}
	})
}
