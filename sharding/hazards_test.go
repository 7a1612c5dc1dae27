package sharding

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// scriptNet is a network whose lane a test watches: before runs under the lane's lock, before
// check.
type scriptNet struct {
	hosttest.NoChannels
	mu     sync.Mutex
	before func()
	full   bool
	fail   error
	frames [][]byte
}

func (n *scriptNet) Append(_ transport.NodeID, _ transport.Lane, _ uint32, _ transport.Channel,
	fill func([]byte) []byte, check func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.full {
		return transport.ErrQueueFull
	}
	if n.fail != nil {
		return n.fail
	}
	if n.before != nil {
		n.before()
	}
	if check != nil {
		if err := check(); err != nil {
			return err
		}
	}
	n.frames = append(n.frames, fill(nil))
	return nil
}

func (n *scriptNet) AppendWait(_ context.Context, to transport.NodeID, lane transport.Lane, stripe uint32,
	ch transport.Channel, fill func([]byte) []byte, check func() error) error {
	return n.Append(to, lane, stripe, ch, fill, check)
}

// scripted is a region over a scriptNet whose shards all live on node 2.
func scripted(t *testing.T, edits ...func(*EntityType[message_])) (*Region[message_], *scriptNet) {
	n, typ := &scriptNet{}, cartType(&cartLog{})
	for _, edit := range edits {
		edit(&typ)
	}
	g := &Region[message_]{
		plane: dataplane.New(settingsOf(fakePorts(1, n, &fakeLease{}), typ)),
	}
	g.plane.SteeredBy(&fakeControl{r: g.plane})
	for i := range g.plane.Routes.Slots {
		g.plane.Routes.Slots[i].Store(&routes.Route{Remote: 2})
	}
	closing(t, g, nil)
	return g, n
}

// H1: a sender that took its route before the hand-off began must not append after the fence.
func TestRouteIsCheckedUnderTheLanesLock(t *testing.T) {
	for name, ctx := range map[string]context.Context{"outside": context.Background(), "handler": entities.InHandler} {
		g, n := scripted(t)
		number := g.plane.Routes.ShardOf("a")
		n.before = func() { g.plane.Routes.Buffering(number) }
		if err := g.Tell(ctx, "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		if len(n.frames) != 0 {
			t.Errorf("%s: a message was appended along a route that had changed", name)
		}
		if b := g.plane.Routes.Slots[number].Load().Buffer; len(b.Messages) != 1 {
			t.Errorf("%s: %d messages wait", name, len(b.Messages))
		}
	}
}

// So it is for what comes from another node and is passed on: it waits for the next home, behind
// what waits there.
func TestRouteOfWhatIsPassedOnIsCheckedToo(t *testing.T) {
	g, n := scripted(t)
	mt, _ := g.plane.Registry.Of(addItem{})
	n.before = func() { g.plane.Routes.Buffering(1) }
	g.plane.Receive(7, append(codec.AppendMessageHead(nil,
		&codec.Message{Kind: codec.Tell, Shard: 1, Type: mt.ID}, "a"), 0xa0))
	if b := g.plane.Routes.Slots[1].Load().Buffer; len(n.frames) != 0 || b == nil || len(b.Messages) != 1 {
		t.Errorf("%d frames went along a route that had changed", len(n.frames))
	}
}

// The fast path opens only when the buffer is empty, or a new message would overtake.
func TestRouteOpensWhenTheBufferIsEmpty(t *testing.T) {
	g, n := scripted(t)
	number := g.plane.Routes.ShardOf("a")
	g.plane.Routes.Buffering(number)
	for range 5 {
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
	}
	n.before = func() {
		if g.plane.Routes.Slots[number].Load().Buffer == nil {
			t.Error("the route is open while messages wait")
		}
		n.full = len(n.frames) == 2
	}
	to := &routes.Route{Remote: 3}
	if g.plane.Routes.SetRoute(number, to) {
		t.Error("flushed into a full lane")
	}
	if err := g.Tell(within(t, time.Second), "a", addItem{}); err != nil {
		t.Fatalf("a message that has to wait behind others: %v", err) // the lane is full: it was sent past them
	}
	n.full, n.before = false, nil
	if !g.plane.Routes.Flush(number) || g.plane.Routes.Slots[number].Load() != to || len(n.frames) != 6 {
		t.Errorf("%d frames, route %+v", len(n.frames), g.plane.Routes.Slots[number].Load())
	}
	if c := g.plane.Routes.Limit.Count.Load(); c != 0 {
		t.Errorf("%d messages are still counted as waiting", c)
	}
}

// A closed mailbox refuses pushes, from whatever old route they come.
func TestSealedShardRefuses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, _ := localRegion(t, cartType(&cartLog{}))
		ref := g.Ref("a")
		stuck := newGate()
		for _, m := range []message_{block{stuck}, addItem{"x", 1}} {
			if err := ref.Tell(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		s := g.plane.Routes.Slots[ref.to.Number].Load().Local
		<-stuck.entered
		empty := make(chan struct{})
		s.Drain(func() { close(empty) })
		for _, id := range []string{"a", "new"} {
			if v, _ := s.Deliver(id, mailbox.Envelope{Msg: addItem{}}, 0); v != mailbox.Refused {
				t.Errorf("%s: verdict %d", id, v)
			}
		}
		synctest.Wait()
		select {
		case <-empty:
			t.Error("drained while a handler runs")
		default:
		}
		close(stuck.open)
		<-empty
		if err := ref.Tell(t.Context(), addItem{}); err != nil {
			t.Fatal(err)
		}
		if b := g.plane.Routes.Slots[ref.to.Number].Load().Buffer; b == nil || len(b.Messages) != 1 {
			t.Error("what a sealed shard refuses does not wait for the next home")
		}
		s.Resume()
		if v, _ := s.Deliver("a", mailbox.Envelope{Msg: addItem{}}, 0); v != mailbox.Accepted {
			t.Errorf("after resume: verdict %d", v)
		}
	})
}

// A worker that tells a drain which was taken back that its mailbox rests does not end the next
// one, for which another handler runs.
func TestDrainsDoNotCountForEachOther(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	s := entities.NewShard(g.plane.Entities, 0, protocol.Token{})
	a, b := s.AddLocked("a"), s.AddLocked("b")
	var turns [2]mailbox.Turn
	for i, e := range []*entities.Entity{a, b} { // a handler of it runs
		e.Push(mailbox.Envelope{Msg: addItem{}}, 0, 10)
		e.Refill(&turns[i], 10)
		turns[i].Next()
	}
	var ended []string
	s.Drain(func() { ended = append(ended, "first") })
	_, rested := a.Refill(&turns[0], 10)
	s.Resume()
	s.Drain(func() { ended = append(ended, "second") })
	if rested.Settled(); len(ended) > 0 {
		t.Errorf("%v ended while a handler runs", ended)
	}
	if _, rested = b.Refill(&turns[1], 10); fmt.Sprint(ended) != "[]" {
		t.Error(ended)
	}
	if rested.Settled(); fmt.Sprint(ended) != "[second]" {
		t.Error(ended)
	}
}

// H5: the reader of a lane does not wait for a mailbox; the asker hears of it, and the drop is
// counted.
func TestLaneReaderDoesNotWait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var drops []Drop
		typ := cartType(&cartLog{})
		typ.Limits.MailboxMax = 3
		typ.OnEvent = onEvent(func(d Drop) { drops = append(drops, d) })
		g, _ := localRegion(t, typ)
		n := &scriptNet{}
		g.plane.Out.Net = n
		stuck := newGate()
		if err := g.Tell(t.Context(), "a", block{stuck}); err != nil {
			t.Fatal(err)
		}
		<-stuck.entered
		mt, _ := g.plane.Registry.Of(addItem{})
		body, _ := mt.Append(nil, addItem{"x", 1})
		number := g.plane.Routes.ShardOf("a")
		for i := range 5 {
			m := codec.Message{Kind: codec.Ask, Shard: number, Type: mt.ID, Call: uint64(i + 1)}
			g.plane.Receive(7, append(codec.AppendMessageHead(nil, &m, "a"), body...))
		}
		if len(drops) != 2 || drops[0].Reason != DropMailboxFull || drops[0].ID != "a" ||
			drops[0].Shard != ShardID(number) {
			t.Errorf("drops: %v", drops)
		}
		n.mu.Lock()
		if len(n.frames) != 2 {
			t.Errorf("%d askers were told", len(n.frames))
		}
		n.mu.Unlock()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Tell(ctx, "a", addItem{}); !errors.Is(err, ErrBufferFull) || time.Since(began) != time.Second {
			t.Errorf("outside: %v after %v", err, time.Since(began))
		}
		if err := g.Tell(entities.InHandler, "a", addItem{}); !errors.Is(err, ErrBufferFull) {
			t.Errorf("inside: %v", err)
		}
		blocked := make(chan error, 1)
		go func() { blocked <- g.Tell(t.Context(), "a", addItem{}) }()
		synctest.Wait()
		close(stuck.open)
		if err := <-blocked; err != nil {
			t.Error(err)
		}
	})
}

// Replies that find their lane full wait in a queue of their own and arrive.
func TestRepliesHaveRoomOfTheirOwn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g, _ := localRegion(t, cartType(&cartLog{}))
		n := &roomNet{}
		n.full.L = &n.mu
		n.isFull = true
		g.plane.Out.Net = n
		mt, _ := g.plane.Registry.Of(total{})
		body, _ := mt.Append(nil, total{})
		for i := range 100 {
			id := fmt.Sprint("e", i)
			m := codec.Message{Kind: codec.Ask, Shard: g.plane.Routes.ShardOf(id), Type: mt.ID, Call: uint64(i + 1)}
			g.plane.Receive(7, append(codec.AppendMessageHead(nil, &m, id), body...))
		}
		synctest.Wait()
		g.plane.Out.Overflow.Mu.Lock()
		if q := g.plane.Out.Overflow.Peers[7]; q == nil || len(q.Frames) != 99 { // one is being tried
			t.Errorf("replies wait elsewhere, where they hold workers: %+v", q)
		}
		g.plane.Out.Overflow.Mu.Unlock()
		n.mu.Lock()
		n.isFull = false
		n.full.Broadcast()
		n.mu.Unlock()
		synctest.Wait()
		if n.frames != 100 {
			t.Errorf("%d replies of 100", n.frames)
		}
	})
}

// roomNet is full until told otherwise.
type roomNet struct {
	hosttest.NoChannels
	mu     sync.Mutex
	full   sync.Cond
	isFull bool
	frames int
}

func (n *roomNet) Append(transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isFull {
		return transport.ErrQueueFull
	}
	n.frames++
	return nil
}

func (n *roomNet) AppendWait(context.Context, transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.isFull {
		n.full.Wait()
	}
	n.frames++
	return nil
}

// A message that goes round in circles is dropped and counted.
func TestHops(t *testing.T) {
	g, n := scripted(t)
	mt, _ := g.plane.Registry.Of(addItem{})
	m := codec.Message{Kind: codec.Tell, Hops: codec.HopsMax - 1, Shard: 1, Type: mt.ID}
	g.plane.Receive(7, append(codec.AppendMessageHead(nil, &m, "a"), 0xa0))
	m.Hops++
	g.plane.Receive(7, append(codec.AppendMessageHead(nil, &m, "a"), 0xa0))
	if len(n.frames) != 1 || g.plane.Drops.Count(DropTooManyHops) != 1 {
		t.Errorf("%d forwarded, %d dropped", len(n.frames), g.plane.Drops.Count(DropTooManyHops))
	}
}

// A question that moves on with its shard is answered to the node that asked, not to the one that
// it moved from.
func TestQuestionsKeepTheirOriginWhenTheyMove(t *testing.T) {
	g, n := scripted(t)
	number := g.plane.Routes.ShardOf("a")
	g.plane.Routes.PutBack(number, []routes.BufferedMessage{
		{ID: "a", Env: mailbox.Envelope{Msg: total{}, Call: 5, Origin: 7}, Size: routes.BufferedOverhead},
	})
	g.plane.Routes.SetRoute(number, &routes.Route{Remote: 3})
	if len(n.frames) != 1 {
		t.Fatalf("%d frames", len(n.frames))
	}
	rd := cbor.NewReader(n.frames[0])
	var m codec.Message
	kind, fields := codec.OpenFrame(rd)
	m.Read(rd, kind, fields)
	if rd.Err() != nil || m.Call != 5 || m.Origin != 7 {
		t.Errorf("call %d of node %d", m.Call, m.Origin)
	}
}

// What cannot travel is dropped for the right reason.
func TestDropsOfTheFlushSayWhy(t *testing.T) {
	var got []DropReason
	g, n := scripted(t, func(t *EntityType[message_]) {
		t.OnEvent = onEvent(func(d Drop) { got = append(got, d.Reason) })
	})
	number := g.plane.Routes.ShardOf("a")
	n.fail = transport.ErrFrameTooLarge
	g.plane.Routes.PutBack(number, []routes.BufferedMessage{
		{ID: "a", Env: mailbox.Envelope{Msg: addItem{}}}, {ID: "a", Env: mailbox.Envelope{Msg: unknown{}}},
	})
	g.plane.Routes.SetRoute(number, &routes.Route{Remote: 3})
	if fmt.Sprint(got) != "[too large unregistered type]" {
		t.Error(got)
	}
}
