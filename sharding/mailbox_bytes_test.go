package sharding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
)

// blob is a message that takes room.
type blob struct{ B []byte }

func (blob) command() {}

// askBlob is a question that takes room.
type askBlob struct {
	Returns[message_, int]
	B []byte
}

func (askBlob) command() {}

// crowd is a region whose entities handle nothing until they are let, and node 7, which sends to
// it.
type crowd struct {
	t     *testing.T
	g     *Region[message_]
	net   *scriptNet
	lease *fakeLease
	goOn  func()

	mu      sync.Mutex
	handled map[string][]int // by id: the sizes of the messages, below 0 those of questions
}

// note notes that an entity has handled a message.
func (c *crowd) note(id string, m message_) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case blob:
		c.handled[id] = append(c.handled[id], len(m.B))
	case askBlob:
		c.handled[id] = append(c.handled[id], -len(m.B))
	}
}

// newCrowd starts it in a bubble.
func newCrowd(t *testing.T, mailbox, region int, edits ...func(*Ports)) *crowd {
	typ := cartType(&cartLog{})
	typ.Messages = CBOR[message_](blob{}, askBlob{}, total{})
	typ.Limits.MailboxBytes, typ.Limits.RegionBytes = mailbox, region
	gate := make(chan struct{})
	k := &crowd{
		t: t, lease: &fakeLease{}, goOn: sync.OnceFunc(func() { close(gate) }), handled: map[string][]int{},
	}
	typ.New = func(*Context[message_]) Entity[message_] {
		return receiveFunc(func(c *Context[message_], m message_) error {
			<-gate
			k.note(c.ID(), m)
			if c.Asked() {
				return c.Reply(1)
			}
			return nil
		})
	}
	edits = append(edits, func(p *Ports) { p.Lease = k.lease })
	k.g, k.net = scriptedType(t, typ, edits...)
	t.Cleanup(k.goOn)
	return k
}

// brings delivers a message that counts so many bytes.
func (c *crowd) brings(id string, size int, msg func([]byte) message_) {
	c.t.Helper()
	c.g.plane.Receive(7, c.frame(id, size, msg))
}

// frame is the frame of a message that counts so many bytes.
func (c *crowd) frame(id string, size int, msg func([]byte) message_) []byte {
	c.t.Helper()
	r := c.g.plane
	mt, err := r.Registry.Of(msg(nil))
	if err != nil {
		c.t.Fatal(err)
	}
	none, err := mt.Append(nil, msg([]byte{}))
	if err != nil {
		c.t.Fatal(err)
	}
	pad := size - routes.BufferedOverhead - len(none)
	body, err := mt.Append(nil, msg(make([]byte, pad)))
	if err != nil {
		c.t.Fatal(err)
	}
	m := codec.Message{Kind: codec.Tell, Shard: r.Routes.ShardOf(id), Type: mt.ID}
	if _, asks := msg(nil).(askBlob); asks {
		m.Kind, m.Call = codec.Ask, 5
	}
	return append(codec.AppendMessageHead(nil, &m, id), body...)
}

func aBlob(b []byte) message_ { return blob{b} }
func anAsk(b []byte) message_ { return askBlob{B: b} }

// want compares what was dropped, and what is held to within the growth of the heads of byte
// strings.
func (c *crowd) want(held int, drops ...string) {
	c.t.Helper()
	synctest.Wait()
	if got := c.g.Stats().Held; got < held || got > held+64 {
		c.t.Errorf("%d bytes are held, want %d", got, held)
	}
	if got := counted(c.g.plane); !slices.Equal(got, drops) {
		c.t.Errorf("%v were dropped, want %v", got, drops)
	}
}

// Each bound drops what comes for want of its own room, with its own reason; an asker is told at
// once; and what was handled gives all room back.
func TestMailboxBytes(t *testing.T) {
	for name, c := range map[string]struct {
		mailbox, region, node int
		ids                   []string
		want                  string
	}{
		"of a mailbox": {4000, 1 << 20, 1 << 30, []string{"a"}, "mailbox holds too many bytes 2"},
		"of a region": {
			1 << 20, 4000, 1 << 30, []string{"a", "b", "c"}, "mailboxes of the region hold too many bytes 2",
		},
		"of a node": {1 << 20, 1 << 20, 1, []string{"a", "b", "c"}, "mailboxes of the node hold too many bytes 5"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				k := newCrowd(t, c.mailbox, c.region, func(p *Ports) {
					p.mailboxes = mailbox.NewNodeBytes(int64(c.node))
				})
				for i := range 4 { // three have room
					k.brings(c.ids[i%len(c.ids)], 1200, aBlob)
				}
				k.brings(c.ids[0], 1200, anAsk)
				synctest.Wait()
				held := 3600
				if c.node == 1 {
					held = 0
				}
				k.want(held, c.want)
				if n := len(k.net.frames); n != 1 {
					t.Errorf("%d answers to the asker, want 1", n)
				}
				// of this node: it counts nothing
				if err := k.g.Tell(t.Context(), c.ids[0], blob{make([]byte, 1<<16)}); err != nil {
					t.Error(err)
				}
				k.goOn()
				k.want(0, c.want)
				if k.brings("a", 1200, aBlob); c.node > 1 {
					k.want(0, c.want)
				}
			})
		})
	}
}

// A mailbox that holds nothing takes a message of any size, and so does a region.
func TestMailboxBytesTakeOneOfAnySize(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		k := newCrowd(t, 1000, 2000)
		k.brings("a", 5000, aBlob)
		k.want(5000)
		k.brings("a", 200, aBlob)
		k.want(5000, "mailbox holds too many bytes 1")
		k.brings("b", 200, aBlob)
		k.want(5000, "mailbox holds too many bytes 1", "mailboxes of the region hold too many bytes 1")
		k.goOn()
		k.want(0, "mailbox holds too many bytes 1", "mailboxes of the region hold too many bytes 1")
	})
}

// A message that finds no room starts no entity.
func TestNoRoomStartsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		k := newCrowd(t, 1<<20, 1000)
		k.brings("a", 900, aBlob)
		k.brings("b", 900, aBlob)
		k.want(900, "mailboxes of the region hold too many bytes 1")
		r := k.g.plane
		if e := r.Routes.Hosted[r.Routes.ShardOf("b")].Load().Entities.Find("b"); e != nil {
			t.Error("b was started")
		}
		k.goOn()
		k.want(0, "mailboxes of the region hold too many bytes 1")
		k.brings("b", 900, aBlob)
		k.want(0, "mailboxes of the region hold too many bytes 1")
	})
}

// Whatever becomes of the messages, handled, put back, or dropped with a shard, the room comes back
// to the last byte.
func TestMailboxBytesComeBack(t *testing.T) {
	for name, end := range map[string]func(*crowd){
		"handled": func(c *crowd) { c.goOn() },
		"killed": func(c *crowd) {
			for i := range c.g.plane.Routes.Hosted {
				c.g.plane.Routes.Hosted[i].Load().Shut(func(*entities.Entity, mailbox.Envelope, uint32) {})
			}
			c.goOn()
		},
		"held for a lease": func(c *crowd) {
			lease := c.lease
			lease.lost.Store(true)
			c.goOn()
			synctest.Wait()
			lease.lost.Store(false)
			c.g.plane.Entities.Lease.Changed(true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				node := mailbox.NewNodeBytes(1 << 30)
				k := newCrowd(t, 1<<20, 1<<20, func(p *Ports) { p.mailboxes = node })
				for i := range 500 {
					k.brings(fmt.Sprint("e", i%7), 400+i, aBlob)
				}
				end(k)
				k.want(0)
				k.g.plane.Entities.Held.End()
				if n := node.Used(); n != 0 {
					t.Errorf("%d bytes of the node are still taken", n)
				}
			})
		})
	}
}

// The bounds have the defaults that EntityType names.
func TestMailboxBytesDefaults(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	box, region := Limits{}.WithDefaults().MailboxBytes, g.plane.Entities.Held.Max()
	if box != 32<<20 || region != 256<<20 {
		t.Errorf("MailboxBytes %d, RegionBytes %d", box, region)
	}
}

// The limit of a node holds for all its types, and is checked.
func TestLimitMailboxes(t *testing.T) {
	n := ddatatest.Start(t, "backend")[0]
	if err := LimitMailboxes(n, 1); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "1048576") {
		t.Error(err)
	}
	if err := LimitMailboxes(n, 1<<20); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"A", "B"} {
		typ := cartType(&cartLog{})
		typ.Name = name
		g, err := Start(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		node := typesOf(n.Host()).mailboxes
		if v := g.plane.Entities.Held.Take(1); v != mailbox.Accepted || node.Used() != mailbox.NodeStep {
			t.Errorf("%s takes its room elsewhere: verdict %d, %d bytes", name, v, node.Used())
		}
		if v := g.plane.Entities.Held.Take(1 << 20); v != mailbox.HeavyNode {
			t.Errorf("%s is not under the node's limit: verdict %d", name, v)
		}
		g.plane.Entities.Held.Release(1)
		g.plane.Entities.Held.End()
	}
}

// A message of another node that waited for its shard keeps waiting, in the bounded buffer, while
// the mailbox has no room for it.
func TestBufferWaitsForMailboxBytes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		k := newCrowd(t, 1000, 1<<20)
		r := k.g.plane
		number := r.Routes.ShardOf("a")
		s := r.Routes.Lanes[number].Swap(nil)
		r.Routes.Buffering(number)
		for range 3 {
			k.brings("a", 600, aBlob)
		}
		if r.Routes.SetRoute(number, &routes.Route{Local: s}) {
			t.Error("everything was flushed")
		}
		k.want(600)
		k.goOn()
		for deadline := time.Now().Add(time.Second); !r.Routes.Flush(number); <-time.After(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the buffer is never flushed")
			}
		}
		k.want(0)
	})
}
