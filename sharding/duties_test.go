package sharding

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// Questions that handlers have taken and forgotten are bounded: the oldest makes room if it is old,
// and else there is none.
func TestDutiesAreBounded(t *testing.T) {
	d := duties{slowAfter: time.Second}
	for i := range uint64(dutiesMax) {
		if old, ok := d.take(duty{call: i + 1}, time.Duration(i)); old != (duty{}) || !ok {
			t.Fatalf("%d: %v made room; taken: %t", i+1, old, ok)
		}
	}
	if _, ok := d.take(duty{call: dutiesMax + 1}, time.Second-1); ok {
		t.Error("one more was taken, though all are young")
	}
	d.settle(duty{call: 1})
	if old, ok := d.take(duty{call: dutiesMax + 1}, time.Second); old != (duty{}) || !ok {
		t.Errorf("with room for one: %v made room; taken: %t", old, ok)
	}
	if _, ok := d.take(duty{call: dutiesMax + 2}, time.Second); ok {
		t.Error("one more was taken, though the oldest is young")
	}
	for i := range uint64(10) {
		now := time.Second + time.Duration(1+i)
		if old, ok := d.take(duty{call: dutiesMax + 2 + i}, now); old != (duty{call: 2 + i}) || !ok {
			t.Errorf("%v made room; taken: %t", old, ok)
		}
	}
	if n := len(d.open); n != dutiesMax || d.byAge.Len() != n {
		t.Errorf("%d are kept", n)
	}
	if old, _ := d.sweepLocked(time.Hour); len(old) != dutiesMax || len(d.open)+d.byAge.Len() > 0 {
		t.Errorf("%d of %d were old", len(old), dutiesMax)
	}
}

// The asker of the question that makes room is told, and it is counted. A handler that finds no
// room may still answer at once.
func TestQuestionMakesRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := scales()
		typ.AskTimeout = time.Second
		refused, taken := make(chan error, 1), make(chan struct{}, 2)
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, err := c.Responder(); err != nil {
					refused <- err
					return c.Reply(7)
				}
				taken <- struct{}{}
				return nil
			})
		}
		g := start(w.join("backend"), typ)
		w.install()
		asked := ask(t, g, weigh{})
		<-taken // else it is not the oldest
		for i := range uint64(dutiesMax - 1) {
			g.plane.out.owe(duty{call: i + 1, origin: 77})
		}
		if err := <-ask(t, g, weigh{}); err != nil || !errors.Is(<-refused, ErrBufferFull) {
			t.Errorf("a question without room: %v", err)
		}
		<-time.After(typ.AskTimeout)
		ask(t, g, weigh{})
		if err := <-asked; !errors.Is(err, ErrBufferFull) {
			t.Errorf("the asker of the oldest hears %v", err)
		}
		if d := g.Stats().Drops; len(d) != 1 || d[0] != (DropCount{DropUnanswered, 1}) {
			t.Errorf("dropped %v", d)
		}
	})
}

// To wait for answers ends with the last of them, with the time of the last, or with the context.
func TestAwaitDuties(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		d := duties{slowAfter: time.Minute}
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
			g.plane.departed.Range(func(any, any) bool { n++; return true })
			return n
		}
		g.plane.Receive(77, codec.AppendFarewell(nil))
		if n := kept(); n != 0 {
			t.Errorf("%d farewells of strangers are kept", n)
		}
		g.plane.Receive(transport.NodeID(b.UID()), codec.AppendFarewell(nil))
		if n := kept(); n != 1 {
			t.Errorf("%d farewells of members are kept, want 1", n)
		}
		b.gone = true
		w.install()
		if n := kept(); n != 0 {
			t.Errorf("%d farewells are kept of a node that is gone", n)
		}
		if d := stats(g.plane).Drops; len(d) > 0 {
			t.Errorf("dropped %v", d)
		}
	})
}
