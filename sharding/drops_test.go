package sharding

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// counted is what a region has dropped, by reason.
func counted(r *dataplane.Plane) (all []string) {
	for reason, n := range r.Drops.All() {
		if n > 0 {
			all = append(all, fmt.Sprint(reason, " ", n))
		}
	}
	return all
}

// asksFrame makes the frame of a question of another node.
func asksFrame(r *dataplane.Plane, id string, typ uint32, body []byte) []byte {
	m := codec.Message{Kind: codec.Ask, Shard: r.Routes.ShardOf(id), Type: typ, Call: 5}
	return append(codec.AppendMessageHead(nil, &m, id), body...)
}

// H8: what another node has sent and this one cannot use is counted, by what is wrong with it, and
// the asker is told.
func TestUselessMessagesOfOthersAreCounted(t *testing.T) {
	known := testMessages().reg
	mt, _ := known.Of(total{})
	for name, c := range map[string]struct {
		id   string
		typ  uint32
		body []byte
		want string
	}{
		"no id":              {"", mt.ID, []byte{0xa0}, "invalid id 1"},
		"an id of no text":   {"a\xff", mt.ID, []byte{0xa0}, "invalid id 1"},
		"a body of no CBOR":  {"a", mt.ID, []byte{0xff}, "undecodable 1"},
		"a type of no name":  {"a", 77, []byte{0xa0}, "unregistered type 1"},
		"the same, buffered": {"b", 77, []byte{0xa0}, "unregistered type 1"},
	} {
		g, _ := localRegion(t, cartType(&cartLog{}))
		n := &scriptNet{}
		r := g.plane
		r.Out.Net = n
		if c.id == "b" {
			number := r.Routes.ShardOf(c.id)
			s := r.Routes.Lanes[number].Swap(nil)
			r.Routes.Buffering(number)
			defer r.Routes.OpenLanes(number, s)
		}
		r.Receive(7, asksFrame(r, c.id, c.typ, c.body))
		if c.id == "b" {
			r.Routes.OpenLanes(r.Routes.ShardOf(c.id), r.Routes.Hosted[r.Routes.ShardOf(c.id)].Load())
		}
		if got := counted(r); !slices.Equal(got, []string{c.want}) || len(n.frames) != 1 {
			t.Errorf("%s: %v with %d answers, want %s with 1", name, got, len(n.frames), c.want)
		}
	}
}

// H8: what another node has sent and this one cannot pass on, or keep, is counted, and the asker is
// told.
func TestWhatCannotBePassedOnIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*dataplane.Plane, *scriptNet, uint32)
		want string
	}{
		"too large for a frame": {func(_ *dataplane.Plane, n *scriptNet, _ uint32) {
			n.fail = transport.ErrFrameTooLarge
		}, "too large 1"},
		"no room to wait": {func(r *dataplane.Plane, _ *scriptNet, number uint32) {
			r.Routes.Buffering(number)
			r.Routes.Limit.CountMax = 0
		}, "buffer full 1"},
	} {
		g, n := scripted(t)
		r := g.plane
		mt, _ := r.Registry.Of(total{})
		c.set(r, n, r.Routes.ShardOf("a"))
		r.Receive(7, asksFrame(r, "a", mt.ID, []byte{0xa0}))
		if got := counted(r); !slices.Contains(got, c.want) {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
		if n.fail == nil && len(n.frames) != 1 {
			t.Errorf("%s: %d answers", name, len(n.frames))
		}
	}
}

// H8: what waited of other nodes and finds a full mailbox when the lane opens is counted, as what
// comes is.
func TestFullMailboxWhenTheLaneOpens(t *testing.T) {
	l := newLane(t, 1)
	l.brings("a", 0)
	l.brings("a", 1)
	l.g.plane.Routes.OpenLanes(0, l.s)
	l.took("a", 0)
	if got := counted(l.g.plane); fmt.Sprint(got) != "[mailbox full 1]" {
		t.Error(got)
	}
}

// deafNet has room for nothing, and then no node to send it to.
type deafNet struct{ hosttest.NoChannels }

func (deafNet) Append(transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	return transport.ErrQueueFull
}

// H8: a reply that does not leave is counted, wherever it ends.
func TestUnsentRepliesAreCounted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for name, reply := range map[string]func(*dataplane.Plane){
			"no connection": func(r *dataplane.Plane) { _ = r.Out.Reply(5, 7, 1, nil) },
			"no connection while it waited": func(r *dataplane.Plane) {
				r.Out.Net = deafNet{}
				_ = r.Out.Reply(5, 7, 1, nil)
			},
			"no room any more": func(r *dataplane.Plane) {
				r.Out.Net = deafNet{}
				r.Out.Overflow.Cancel()
				_ = r.Out.Reply(5, 7, 1, nil)
			},
			"the node has gone": func(r *dataplane.Plane) {
				r.Lost(7, append(codec.AppendReplyHead(nil, 5, codec.StatusOK), 1), true)
			},
		} {
			g, _ := localRegion(t, cartType(&cartLog{}))
			reply(g.plane)
			if synctest.Wait(); fmt.Sprint(counted(g.plane)) != "[reply unsent 1]" {
				t.Errorf("%s: %v", name, counted(g.plane))
			}
		}
	})
}

// narrow is an entity of the package's own protocols that sends where no entity is and understands
// nothing.
type narrow struct{ said chan error }

func (k *narrow) Receive(*Context[message_], message_) error { return nil }

func (k *narrow) Carried(c *Context[message_], _ []byte) error {
	k.said <- c.Post(7, "box", nil)
	return Undecodable{errors.New("no word of it")}
}

// H8: what is posted to a node that cannot be reached, and what is carried and not understood, is
// counted; the latter is no failure.
func TestUselessPostsAndCarriesAreCounted(t *testing.T) {
	typ := cartType(&cartLog{})
	k := &narrow{make(chan error, 1)}
	typ.New = func(*Context[message_]) Entity[message_] { return k }
	typ.OnEvent = onEvent(func(f Failure) { t.Error(f) })
	g, _ := localRegion(t, typ)
	if err := g.SendRaw("a", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-k.said; !errors.Is(err, transport.ErrNoPeer) {
		t.Error(err)
	}
	if _, err := Ask(t.Context(), g.Ref("a"), total{}); !errors.Is(err, ErrNoReply) { // all before is done
		t.Error(err)
	}
	if got := counted(g.plane); fmt.Sprint(got) != "[undecodable 1 post unsent 1]" {
		t.Error(got)
	}
}

// busyControl has no room for what other nodes want of single entities.
type busyControl struct{ *fakeControl }

func (busyControl) Admit(uint64, int) (runloop.Permit, bool) { return runloop.Permit{}, false }

// H8: a caller that asks for a start is told when there is no room for it, and when its shard has
// moved and it cannot follow.
func TestRefusedStartsAreAnswered(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	n := &scriptNet{}
	r := g.plane
	r.Out.Net = n
	r.SteeredBy(busyControl{&fakeControl{r: r}})
	mt, _ := r.Registry.Of(codec.Start{})
	body, _ := mt.Append(nil, codec.Start{})
	if r.Receive(7, asksFrame(r, "a", mt.ID, body)); len(n.frames) != 1 {
		t.Errorf("%d answers to a question that found no room", len(n.frames))
	}
	c := &control.Plane{R: r}
	gone := &entities.Shard{Number: 0}
	if c.StartEntity(gone, "", mailbox.Envelope{Msg: codec.Start{}, Call: 5, Origin: 7}); len(n.frames) != 2 {
		t.Errorf("%d answers, want one more", len(n.frames))
	}
}

// startThatWaits is a region with a StartEntity of "second" that waits for at most limit, for its
// id is not written before goOn is called.
func startThatWaits(t *testing.T, w *world, limit time.Duration) (g *Region[message_],
	ended <-chan error, goOn func()) {
	t.Helper()
	typ := cartType(&cartLog{})
	typ.Shards, typ.Remember.Entities = 1, true
	g = start(w.join("backend"), typ)
	w.install()
	if _, err := g.StartEntity(within(t, time.Minute), "first"); err != nil {
		t.Fatal(err)
	}
	goOn = w.store.Stall(protocol.StateKey("Cart", protocol.StateIDs, 0))
	answer := make(chan error, 1)
	go func() {
		_, err := g.StartEntity(within(t, limit), "second")
		answer <- err
	}()
	synctest.Wait()
	return g, answer, goOn
}

// A StartEntity that waits for its id to be written when its shard has stopped follows the shard.
func TestStartThatWaitsFollowsItsShard(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g, ended, goOn := startThatWaits(t, w, time.Minute)
		controlOf(g, func(c *control.Plane) { c.CloseShard(c.Hosted.Of(0)) })
		synctest.Wait()
		b := g.plane.Routes.Buffering(0)
		b.Mu.Lock()
		if len(b.Messages) != 1 || b.Messages[0].ID != "second" || b.Messages[0].Env.Msg != (codec.Start{}) {
			t.Errorf("for the next home wait %+v", b.Messages)
		}
		b.Mu.Unlock()
		goOn()
		<-ended // no node gives it a home, as no hand-off was under way
	})
}
