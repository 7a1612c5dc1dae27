package sharding

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
)

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
		for i := range uint64(asks.DutiesMax - 1) {
			g.plane.Out.Owe(asks.Duty{Call: i + 1, Origin: 77})
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

// The farewell of a node that is no member is not kept, and that of a member no longer than it is
// one.
func TestFarewellsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.join("backend"), w.join("backend")
		g := start(a, cartType(&cartLog{}))
		start(b, cartType(&cartLog{}))
		w.install()
		kept := func() (n int) {
			g.plane.Farewells.Said.Range(func(any, any) bool { n++; return true })
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
