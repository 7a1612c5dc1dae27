package sharding

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Questions that handlers have taken and forgotten are bounded: the oldest makes room if it is old,
// and else there is none.
func TestDutiesAreBounded(t *testing.T) {
	d := dataplane.Duties{SlowAfter: time.Second}
	for i := range uint64(dataplane.DutiesMax) {
		if old, ok := d.Take(dataplane.Duty{Call: i + 1}, time.Duration(i)); old != (dataplane.Duty{}) || !ok {
			t.Fatalf("%d: %v made room; taken: %t", i+1, old, ok)
		}
	}
	if _, ok := d.Take(dataplane.Duty{Call: dataplane.DutiesMax + 1}, time.Second-1); ok {
		t.Error("one more was taken, though all are young")
	}
	d.Settle(dataplane.Duty{Call: 1})
	if old, ok := d.Take(dataplane.Duty{Call: dataplane.DutiesMax + 1}, time.Second); old != (dataplane.Duty{}) || !ok {
		t.Errorf("with room for one: %v made room; taken: %t", old, ok)
	}
	if _, ok := d.Take(dataplane.Duty{Call: dataplane.DutiesMax + 2}, time.Second); ok {
		t.Error("one more was taken, though the oldest is young")
	}
	for i := range uint64(10) {
		now := time.Second + time.Duration(1+i)
		if old, ok := d.Take(dataplane.Duty{Call: dataplane.DutiesMax + 2 + i},
			now); old != (dataplane.Duty{Call: 2 + i}) || !ok {
			t.Errorf("%v made room; taken: %t", old, ok)
		}
	}
	if n := len(d.Open); n != dataplane.DutiesMax || d.ByAge.Len() != n {
		t.Errorf("%d are kept", n)
	}
	if old, _ := d.SweepLocked(time.Hour); len(old) != dataplane.DutiesMax || len(d.Open)+d.ByAge.Len() > 0 {
		t.Errorf("%d of %d were old", len(old), dataplane.DutiesMax)
	}
}

// The asker of the question that makes room is told, and it is counted. A handler that finds no
// room may still answer at once.
func TestQuestionMakesRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := scales()
		typ.Timeouts.Ask = time.Second
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
		for i := range uint64(dataplane.DutiesMax - 1) {
			g.plane.Out.Owe(dataplane.Duty{Call: i + 1, Origin: 77})
		}
		if err := <-ask(t, g, weigh{}); err != nil || !errors.Is(<-refused, ErrBufferFull) {
			t.Errorf("a question without room: %v", err)
		}
		<-time.After(typ.Timeouts.Ask)
		ask(t, g, weigh{})
		if err := <-asked; !errors.Is(err, ErrBufferFull) {
			t.Errorf("the asker of the oldest hears %v", err)
		}
		if d := g.Stats().Drops; len(d) != 1 || d[0] != (DropCount{Reason: DropUnanswered, Count: 1}) {
			t.Errorf("dropped %v", d)
		}
	})
}

// To wait for answers ends with the last of them, with the time of the last, or with the context.
func TestAwaitDuties(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		d := dataplane.Duties{SlowAfter: time.Minute}
		if old, err := d.Await(t.Context(), scheduler.Goroutines{}, clock); len(old) > 0 || err != nil {
			t.Errorf("none is open: %v, %v", old, err)
		}
		d.Take(dataplane.Duty{Call: 1, Origin: 7}, 0)
		d.Take(dataplane.Duty{Call: 2, Origin: 7}, 0)
		time.AfterFunc(time.Second, func() { d.Settle(dataplane.Duty{Call: 1, Origin: 7}) })
		time.AfterFunc(2*time.Second, func() { d.Settle(dataplane.Duty{Call: 2, Origin: 7}) })
		if old, err := d.Await(t.Context(), scheduler.Goroutines{}, clock); len(old) > 0 || err != nil ||
			clock() != 2*time.Second {
			t.Errorf("after %v: %v, %v", clock(), old, err)
		}
		d.Take(dataplane.Duty{Call: 3, Origin: 7}, clock())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Await(ctx, scheduler.Goroutines{}, clock); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context has ended: %v", err)
		}
		old, err := d.Await(t.Context(), scheduler.Goroutines{}, clock)
		if len(old) != 1 || old[0] != (dataplane.Duty{Call: 3, Origin: 7}) || err != nil || clock() != 62*time.Second {
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
			g.plane.Departed.Range(func(any, any) bool { n++; return true })
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
		if d := dataplane.CountStats(g.plane).Drops; len(d) > 0 {
			t.Errorf("dropped %v", d)
		}
	})
}
