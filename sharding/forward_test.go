package sharding

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/codec"
)

// courier posts back what it is carried.
type courier struct{ cart }

func (k *courier) Carried(c *Context[message_], body []byte) error {
	return c.Post(view.UID(body[0])+1000, "box", append([]byte(c.ID()+":"), body...))
}

// What is carried arrives at the entity wherever it lives, in order with what is told, and what is
// posted at the box of the node.
func TestCarryAndPost(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.New = func(*Context[message_]) Entity[message_] { return &courier{cart{log: &cartLog{}}} }
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, typ)
		start(b, typ)
		w.install()
		got := make(chan string, 1)
		shut, err := ra.HandleRaw("box", func(_ view.UID, body []byte) { got <- string(body) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ra.HandleRaw("box", nil); !errors.Is(err, ErrBox) {
			t.Errorf("a box of that name: %v", err)
		}
		for i := range 20 {
			id := fmt.Sprint("e", i)
			if err := ra.SendRaw(id, []byte{1, 'x'}); err != nil {
				t.Fatal(err)
			}
			if s := <-got; s != id+":\x01x" {
				t.Errorf("%q came back", s)
			}
		}
		shut()
		if err := ra.SendRaw("e1", []byte{1, 'x'}); err != nil {
			t.Fatal(err)
		}
		if err := ra.SendRaw("", nil); !errors.Is(err, ErrInvalidID) {
			t.Errorf("no id: %v", err)
		}
		<-time.After(time.Second)
		if n := ra.plane.Drops.Count(DropNoBox); n != 1 {
			t.Errorf("%d posts without a box", n)
		}
	})
}

// An entity that carries nothing drops it, with a reason, and lives on.
func TestCarryToNoCarrier(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	ctx := within(t, time.Minute)
	if err := g.SendRaw("cart-1", []byte{1}); err != nil {
		t.Fatal(err)
	}
	if n, err := Ask(ctx, g.Ref("cart-1"), total{}); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n := g.plane.Drops.Count(DropUnregistered); n != 1 {
		t.Errorf("%d dropped", n)
	}
}

func TestCodecAppendsAndDecodes(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	c := g.Messages()
	b, err := c.Append(nil, addItem{"apple", 2})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := c.Decode(b); m != (addItem{"apple", 2}) || err != nil {
		t.Errorf("%v %v", m, err)
	}
	if _, err := c.Append(nil, unknown{}); !errors.Is(err, ErrUnregisteredMessage) {
		t.Errorf("an unregistered one: %v", err)
	}
	for _, bad := range [][]byte{nil, {0x82}, {0x82, 5, 0xf6}, {0x82, codec.StartWireID, 0xa0}, {0x83, 1, 2, 3}} {
		if m, err := c.Decode(bad); err == nil {
			t.Errorf("% x is %v", bad, m)
		}
	}
}

func FuzzCodecDecode(f *testing.F) {
	g, _ := localRegion(f, cartType(&cartLog{}))
	c := g.Messages()
	b, _ := c.Append(nil, addItem{"apple", 2})
	f.Add(b)
	f.Add([]byte{0x82, codec.RawWireID, 0x81, 0x41, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := c.Decode(b); err == nil {
			if _, err := c.Append(nil, m); err != nil {
				t.Errorf("%v: %v", m, err)
			}
		}
	})
}
