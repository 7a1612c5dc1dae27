package sharding

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A sender that looked the route up before the buffer was opened puts nothing into the buffer,
// because nothing would look there. For the same reason an open buffer cannot be turned elsewhere.
func TestOpenBufferTakesNothing(t *testing.T) {
	g, _ := scripted(t)
	r := g.plane
	b := r.Routes.Buffering(1)
	old := r.Routes.Slots[1].Load()
	if !r.Routes.SetRoute(1, &routes.Route{Remote: 3}) {
		t.Fatal("an empty buffer is not flushed")
	}
	if b.Retarget(&routes.Route{Remote: 4}) || b.Target.Remote != 3 {
		t.Error("an open buffer is turned elsewhere")
	}
	r.Routes.Slots[1].Store(old)
	if err := r.Routes.Hold(1, routes.BufferedMessage{ID: "a", Size: 1}); err != routes.ErrChanged ||
		b.Waits() || r.Routes.Limit.Count.Load() != 0 {
		t.Errorf("%v, %d wait", err, len(b.Messages))
	}
}

// A shard that opens here opens for other nodes in the same moment, whatever its route was.
func TestLocalRouteOpensTheLane(t *testing.T) {
	for name, old := range map[string]*routes.Route{
		"none": nil, "remote": {Remote: 2}, "buffer": {Buffer: new(routes.Buffer)},
	} {
		l := newLane(t, 10)
		l.g.plane.Routes.Slots[0].Store(old)
		if !l.g.plane.Routes.SetRoute(0, &routes.Route{Local: l.s}) || l.g.plane.Routes.Lanes[0].Load() != l.s {
			t.Errorf("before %s: the lane is not open", name)
		}
	}
}

// A message that finds no lane, and would wait, looks again when the lane has opened meanwhile: the
// next one of its sender goes that way.
func TestLaneThatOpensBesideAMessage(t *testing.T) {
	l := newLane(t, 10)
	r := l.g.plane
	mt, _ := r.Registry.Of(addItem{})
	m := &codec.Message{Kind: codec.Tell, Type: mt.ID, ID: []byte("a"), Body: []byte{0xa0}}
	seen := r.Routes.Lanes[0].Load()
	b := r.Routes.Buffering(0)
	r.Routes.OpenLanes(0, l.s)
	if r.PassOn(7, m, seen) || b.Waits() {
		t.Error("it waits, and the next one overtakes it")
	}
	if !r.PassOn(7, m, l.s) || !b.Waits() { // but it waits if the shard has refused it
		t.Error("it does not wait for the next home")
	}
}

// A shard that refuses what waits of other nodes does not take what they sent after that, nor what
// they send next.
func TestLanesOfASealedShardStayShut(t *testing.T) {
	l := newLane(t, 10)
	l.brings("a", 0)
	mt, _ := l.g.plane.Registry.Of(codec.Passivate{})
	body, _ := mt.Append(nil, codec.Passivate{})
	l.g.plane.Receive(7, append(codec.AppendMessageHead(nil, &codec.Message{Kind: codec.Tell, Type: mt.ID}, "a"),
		body...))
	l.s.Drain(func() {})
	l.g.plane.Routes.OpenLanes(0, l.s)
	if b := l.g.plane.Routes.Slots[0].Load().Buffer; len(b.Messages) != 2 {
		t.Errorf("%d messages wait", len(b.Messages))
	}
	l.s.Resume()
	l.brings("a", 1)
	l.took("a")
	l.g.plane.Routes.SetRoute(0, &routes.Route{Local: l.s})
	l.took("a", 0, 1)
}

// A handler's question that waits for a home when its own shard begins to move ends, or the move
// would wait for the handler, and that for the answer. What others ask waits on.
func TestWaitingQuestionOfAMovingShard(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		asked := make(chan error, 1)
		typ := cartType(&cartLog{})
		var ra *Region[message_]
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				switch m.(type) {
				case addItem:
					_, err := Ask(c, ra.Ref("other"), total{})
					asked <- err
				case total:
					return c.Reply(7)
				}
				return nil
			})
		}
		a := w.join("backend")
		ra = start(a, typ)
		w.install()
		ctx := within(t, 5*time.Minute)
		if _, err := Ask(ctx, ra.Ref("asker"), total{}); err != nil {
			t.Fatal(err)
		}
		start(w.join("backend"), typ)
		w.install()
		goOn := w.store.Stall(protocol.StateKey("Cart", protocol.StateHomes, 0)) // no home is given any more
		if err := ra.Tell(ctx, "asker", addItem{}); err != nil {
			t.Fatal(err)
		}
		outside := make(chan error, 1)
		go func() {
			_, err := Ask(ctx, ra.Ref("other"), total{})
			outside <- err
		}()
		synctest.Wait()
		if n := ra.plane.Routes.Limit.Count.Load(); n != 2 {
			t.Fatalf("%d questions wait", n)
		}
		left := make(chan error, 1)
		go func() { left <- w.handsOver(a, time.Minute) }()
		<-time.After(time.Second)
		select {
		case err := <-asked:
			if !errors.Is(err, ErrMoving) {
				t.Errorf("the handler's question: %v", err)
			}
		default:
			t.Error("the handler's question waits on")
		}
		if n := ra.plane.Routes.Limit.Count.Load(); n != 1 {
			t.Errorf("%d questions wait", n)
		}
		goOn()
		if err := <-outside; err != nil {
			t.Errorf("the question from outside: %v", err)
		}
		if err := <-left; err != nil {
			t.Error(err)
		}
	})
}

// fullNet is a network whose lanes never have room.
type fullNet struct{ hosttest.NoChannels }

func (fullNet) Append(transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	return transport.ErrQueueFull
}

func (fullNet) AppendWait(ctx context.Context, _ transport.NodeID, _ transport.Lane, _ uint32, _ transport.Channel,
	_ func([]byte) []byte, _ func() error) error {
	<-ctx.Done()
	return fmt.Errorf("%w: %w", transport.ErrQueueFull, ctx.Err())
}

// H5: a sender along a full lane waits for room as long as its context lasts, a question without a
// deadline as long as one does, and a handler not at all.
func TestFullLane(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, _ := scripted(t)
		g.plane.Out.Net = fullNet{}
		for name, c := range map[string]struct {
			send func() error
			want error
			took time.Duration
		}{
			"outside": {func() error {
				err := g.Tell(within(t, time.Minute), "a", addItem{})
				if !errors.Is(err, ErrBufferFull) {
					t.Errorf("outside: %v does not say why", err)
				}
				return err
			}, context.DeadlineExceeded, time.Minute},
			"a handler": {func() error {
				ctx, cancel := context.WithTimeout(entities.InHandler, time.Minute)
				defer cancel()
				return g.Tell(ctx, "a", addItem{})
			}, ErrBufferFull, 0},
			"a question": {func() error {
				_, err := Ask(context.Background(), g.Ref("a"), total{})
				return err
			}, ErrTimeout, g.plane.Timeouts.Ask},
		} {
			began := time.Now()
			if err := c.send(); !errors.Is(err, c.want) || time.Since(began) != c.took {
				t.Errorf("%s: %v after %v, want %v after %v", name, err, time.Since(began), c.want, c.took)
			}
		}
	})
}

// H8: what waits in a buffer that is dropped, or when the region ends, is reported, each message,
// and its asker is told.
func TestBufferedIsDroppedWithAReason(t *testing.T) {
	for name, drop := range map[string]func(*dataplane.Plane, uint32){
		"dropBuffer":  func(r *dataplane.Plane, number uint32) { r.Routes.DropBuffer(number, DropStopped) },
		"closeRoutes": func(r *dataplane.Plane, _ uint32) { r.Routes.Close() },
	} {
		var got []string
		g, n := scripted(t, func(t *EntityType[message_]) {
			t.OnEvent = onEvent(func(d Drop) { got = append(got, fmt.Sprint(d.ID, " ", d.Reason)) })
		})
		r := g.plane
		number := r.Routes.ShardOf("a")
		r.Routes.Buffering(number)
		for range 2 {
			if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
				t.Fatal(err)
			}
		}
		q := &dataplane.Question[int]{R: r}
		c, env, err := q.Open(t.Context(), total{})
		if err != nil {
			t.Fatal(err)
		}
		sent := r.Send(t.Context(), "a", env)
		mt, _ := r.Registry.Of(total{})
		r.Receive(7, append(codec.AppendMessageHead(nil, &codec.Message{
			Kind: codec.Ask, Shard: number, Type: mt.ID, Call: 5,
		}, "a"), 0xa0))
		drop(r, number)
		if want := "[a stopped a stopped a stopped a stopped]"; fmt.Sprint(got) != want {
			t.Errorf("%s: dropped %v, want %s", name, got, want)
		}
		if err := q.Wait(t.Context(), c, sent); !errors.Is(err, ErrStopped) {
			t.Errorf("%s: a caller here hears %v", name, err)
		}
		if len(n.frames) != 1 || r.Routes.Limit.Count.Load() != 0 || r.Routes.Limit.Bytes.Load() != 0 {
			t.Errorf("%s: %d answers to the other node, %d messages of %d bytes are counted as waiting",
				name, len(n.frames), r.Routes.Limit.Count.Load(), r.Routes.Limit.Bytes.Load())
		}
	}
}

// H8: a caller that waits for a StartEntity when the shard is killed is told, and the drop is
// counted.
func TestKilledShardAnswersStarts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g, answer, goOn := startThatWaits(t, w, time.Hour)
		controlOf(g, func(c *control.Plane) { c.KillShard(c.Hosted.Of(0), DropForced) })
		synctest.Wait()
		select {
		case err := <-answer:
			if !errors.Is(err, ErrStopped) {
				t.Errorf("the waiting caller hears %v", err)
			}
		default:
			t.Error("the waiting caller hears nothing")
		}
		if n := g.plane.Drops.Count(DropForced); n != 1 {
			t.Errorf("%d drops are counted", n)
		}
		goOn()
	})
}

// H8: a reply for which no caller waits any more is counted, whether it was given here or comes
// from another node, and whatever it says.
func TestLateReplies(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, _ := localRegion(t, cartType(&cartLog{}))
		late := func() uint64 { return g.plane.Drops.Count(DropLateReply) }
		stuck := newGate()
		if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		for _, req := range []Request[message_, int]{total{}, failing{}, silent{}} {
			if _, err := Ask(within(t, time.Second), g.Ref("a"), req); !errors.Is(err, ErrTimeout) {
				t.Fatal(err)
			}
		}
		close(stuck.open)
		if synctest.Wait(); late() != 3 {
			t.Errorf("%d of 3 late replies of this node are counted", late())
		}
		for i, frame := range [][]byte{
			append(codec.AppendReplyHead(nil, 1<<32, codec.StatusOK), 1),
			codec.AppendErrorReply(nil, 1<<32, codec.StatusHandler, "x"),
			codec.AppendErrorReply(nil, 1<<32, codec.StatusKnown, "x\x00y"),
		} {
			if g.plane.Receive(7, frame); late() != uint64(4+i) {
				t.Errorf("frame %d: %d late replies", i, late())
			}
		}
	})
}

// H6: a node has not left while a message or a fence that found no room is still here.
func TestLeftWhenAllIsOnItsWay(t *testing.T) {
	g, n := scripted(t)
	c := &control.Plane{
		R: g.plane, Retries: control.NewRetries(g.plane), Departure: control.Departure{Left: make(chan struct{})},
	}
	retry := func() {
		c.Retries.Retry(time.Now(), nil)
		c.Departure.MaybeEnd(c.Retries.Empty())
	}
	left := func() bool { return dataplane.IsDone(c.Departure.Left) }
	if retry(); left() {
		t.Error("it did not want to")
	}
	n.full = true
	g.plane.Routes.Buffering(1)
	g.plane.Routes.PutBack(1, []routes.BufferedMessage{
		{ID: "a", Env: mailbox.Envelope{Msg: addItem{}}, Size: routes.BufferedOverhead},
	})
	c.Retries.Open(time.Now(), 1, &routes.Route{Remote: 3})
	c.RegionEffects(time.Now(), &protocol.RegionEffects{Left: true})
	if left() {
		t.Error("a message is still here")
	}
	n.full = false
	c.Retries.Fence(time.Now(), nil, protocol.SendFence{To: 2, Shard: 2})
	n.full = true
	c.Retries.Fence(time.Now(), nil, protocol.SendFence{To: 2, Shard: 3})
	n.full = false
	delete(c.Retries.Flushes, 1)
	if c.Departure.MaybeEnd(c.Retries.Empty()); left() {
		t.Error("a fence is still here")
	}
	c.Retries.Flushes[1] = true
	if retry(); !left() || len(n.frames) != 3 {
		t.Errorf("left %v with %d frames on their way", left(), len(n.frames))
	}
}
