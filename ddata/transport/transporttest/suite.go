package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

var ch = transport.ChannelOf("suite")

// Run runs the suite.
func Run(t *testing.T, w World) {
	cases := []struct {
		name string
		f    func(*cluster)
	}{
		{"frames of one lane and stripe arrive in order", order},
		{"channels and senders are told apart", channels},
		{"payloads of every size up to the limit", sizes},
		{"messages above FrameMax arrive whole and in order", large},
		{"messages above FrameMax survive broken connections", largeReconnect},
		{"errors of sending", sendErrors},
		{"a full queue is an error, and counted", queueFull},
		{"AppendWait waits for room", appendWait},
		{"a failed check queues nothing", check},
		{"a check and its frame are one step", fence},
		{"order and at most once across broken connections", reconnect},
		{"frames queued while down go out when up", queuedWhileDown},
		{"a successor is read after its predecessor", successor},
		{"link events and generations", linkEvents},
		{"an earlier incarnation is refused", incarnation},
		{"another cluster is refused", otherCluster},
		{"nodes without a format level in common are refused", otherFormats},
		{"SendAddr reaches the listener, and PeerAddr names the sender", sendAddr},
		{"SendAddr to a channel without a handler is dropped and counted", sendUnhandled},
		{"an idle SendAddr connection is closed", sendAddrIdle},
		{"SendPacket drops instead of queueing", sendPacket},
		{"RemovePeer writes what is queued", removePeer},
		{"a peer that was removed and added again is sent to", addedAgain},
		{"SetPeers", setPeers},
		{"streams", streams},
		{"Close with traffic", closeWithTraffic},
		{"the sender knows what came, whichever side ends", knownEnd},
		{"nothing comes to a node that departs", departed},
		{"Flush waits until everything was received", flush},
		{"Flush does not wait in vain", flushInVain},
		{"garbage and huge lengths", garbage},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := w.Bubble
			if run == nil {
				run = func(t *testing.T, f func(*testing.T)) { f(t) }
			}
			run(t, func(t *testing.T) { c.f(&cluster{t: t, u: w.Start(t), configure: w.Configure, next: 100}) })
		})
	}
}

func order(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	b.Handle(ch, r)
	const each = 2000
	var wg sync.WaitGroup
	ways := []struct {
		lane   transport.Lane
		stripe uint32
	}{{transport.Control, 0}, {transport.Data, 0}, {transport.Data, 1}, {transport.Data, 3}, {transport.Bulk, 0}}
	for i, way := range ways {
		wg.Go(func() {
			for n := uint64(1); n <= each; n++ {
				m := message(uint32(i), uint32(i), n, 40)
				fill := func(dst []byte) []byte { return append(dst, m...) }
				if err := a.AppendWait(c.t.Context(), b.Self(), way.lane, way.stripe, ch, fill, nil); err != nil {
					c.t.Errorf("AppendWait: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	c.progress(r, "all there", func() bool { return r.count() == len(ways)*each })
	for i := range ways {
		if got := r.of(uint32(i)); len(got) != each || !rising(got) {
			c.t.Errorf("way %d: %d frames, in order: %v", i, len(got), rising(got))
		}
	}
	if r.overlap.Load() {
		c.t.Error("a handler was entered twice for one stripe")
	}
}

func channels(c *cluster) {
	a, b := c.pair(nil)
	c.join(b, a)
	type got struct {
		from transport.NodeID
		text string
	}
	one, two := make(chan got, 1), make(chan got, 1)
	to := func(out chan got) transport.Handler {
		return transport.HandlerFunc(func(from transport.NodeID, p []byte) { out <- got{from, string(p)} })
	}
	b.Handle(transport.ChannelOf("one"), to(one))
	a.Handle(transport.ChannelOf("two"), to(two))
	c.must(a.Send(b.Self(), transport.Control, 0, transport.ChannelOf("absent"), []byte("lost")))
	c.must(a.Send(b.Self(), transport.Control, 0, transport.ChannelOf("one"), []byte("ping")))
	c.must(b.Send(a.Self(), transport.Control, 0, transport.ChannelOf("two"), []byte("pong")))
	if g := receive(c, one); g != (got{a.Self(), "ping"}) {
		c.t.Errorf("b got %v", g)
	}
	if g := receive(c, two); g != (got{b.Self(), "pong"}) {
		c.t.Errorf("a got %v", g)
	}
	if n := b.Stats().Dropped[transport.DropNoHandler]; n != 1 {
		c.t.Errorf("%d frames without a handler, want 1", n)
	}
}

func sizes(c *cluster) {
	const limit = 300 << 10
	a, b := c.pair(func(cfg *transport.Config) { cfg.FrameMax = limit })
	out := make(chan []byte, 16)
	b.Handle(ch, transport.HandlerFunc(func(_ transport.NodeID, p []byte) { out <- bytes.Clone(p) }))
	for _, n := range []int{0, 1, 4087, 4088, 4089, 65535, limit - 1, limit} {
		want := bytes.Repeat([]byte{byte(n), 7}, n/2+1)[:n]
		c.must(a.Send(b.Self(), transport.Bulk, 0, ch, want))
		if got := receive(c, out); !bytes.Equal(got, want) {
			c.t.Errorf("%d bytes arrived as %d, or altered", n, len(got))
		}
	}
}

func sendErrors(c *cluster) {
	a, b := c.pair(nil)
	want := func(err, target error) {
		c.t.Helper()
		if !errors.Is(err, target) {
			c.t.Errorf("got %v, want %v", err, target)
		}
	}
	want(a.Send(999, transport.Data, 0, ch, nil), transport.ErrNoPeer)
	want(a.Send(a.Self(), transport.Data, 0, ch, nil), transport.ErrSelf)
	want(a.AddPeer(a.Self(), a.Addr()), transport.ErrSelf)
	want(a.SendAddr(a.Addr(), ch, nil), transport.ErrSelf)
	want(a.Send(b.Self(), 9, 0, ch, nil), transport.ErrBadLane)
	want(a.AddPeer(7, "nowhere"), transport.ErrBadAddr)
	want(a.SendAddr("nowhere:0", ch, nil), transport.ErrBadAddr)
	want(a.Send(b.Self(), transport.Control, 0, ch, make([]byte, transport.DefaultFrameMax+1)),
		transport.ErrFrameTooLarge)
	huge := make([]byte, transport.DefaultMessageMax+1)
	want(a.Send(b.Self(), transport.Data, 0, ch, huge), transport.ErrFrameTooLarge)
	want(a.Append(b.Self(), transport.Data, 0, ch, func(dst []byte) []byte { return append(dst, huge...) }, nil),
		transport.ErrFrameTooLarge)
	c.must(a.Close())
	c.must(a.Close())
	want(a.Send(b.Self(), transport.Data, 0, ch, nil), transport.ErrClosed)
	want(a.SendAddr(b.Addr(), ch, nil), transport.ErrClosed)
	want(a.AddPeer(5, b.Addr()), transport.ErrClosed)
}

func queueFull(c *cluster) {
	a := c.start(func(cfg *transport.Config) {
		cfg.DataQueueMax, cfg.ControlQueueMax, cfg.BulkQueueMax = 1000, 2000, 1000
	})
	a.wire.Down(errors.New("the suite says no"))
	c.must(a.AddPeer(77, "127.0.0.1:9"))
	for _, lane := range []transport.Lane{transport.Control, transport.Data, transport.Bulk} {
		n := 0
		for ; n < 100; n++ {
			if err := a.Send(77, lane, 2, ch, make([]byte, 92)); err != nil {
				if err != transport.ErrQueueFull {
					c.t.Errorf("%v: %v", lane, err)
				}
				break
			}
		}
		if want := map[transport.Lane]int{
			transport.Control: 20, transport.Data: 10, transport.Bulk: 10,
		}[lane]; n != want {
			c.t.Errorf("%v took %d frames, want %d", lane, n, want)
		}
	}
	s := a.Stats()
	for _, d := range []transport.Drop{
		transport.DropQueueFullControl, transport.DropQueueFullData, transport.DropQueueFullBulk,
	} {
		if s.Dropped[d] != 1 {
			c.t.Errorf("%v counted %d times, want 1", d, s.Dropped[d])
		}
	}
}

func appendWait(c *cluster) {
	a, b := c.start(func(cfg *transport.Config) { cfg.DataQueueMax = 1000 }), c.start(nil)
	r := newRecorder()
	b.Handle(ch, r)
	a.wire.Down(errors.New("the suite says no"))
	c.join(a, b)
	put := func(ctx context.Context, n uint64) error {
		return a.AppendWait(ctx, b.Self(), transport.Data, 0, ch, func(dst []byte) []byte {
			return append(dst, message(0, 0, n, 92)...)
		}, nil)
	}
	for n := uint64(1); n <= 10; n++ {
		c.must(put(c.t.Context(), n))
	}
	short, cancel := context.WithTimeout(c.t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := put(short, 0); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, transport.ErrQueueFull) {
		c.t.Errorf("got %v, want the context's end and why", err)
	}
	if n := a.Stats().Dropped[transport.DropQueueFullData]; n != 1 {
		c.t.Errorf("%d frames were counted that found no room, want 1", n)
	}
	done := make(chan error, 1)
	go func() { done <- put(c.t.Context(), 11) }()
	a.wire.Down(nil)
	c.must(receive(c, done))
	c.progress(r, "all there", func() bool { return r.last(0) == 11 })

	a.wire.Down(errors.New("the suite says no"))
	a.wire.Break()
	go func() {
		var err error
		for err == nil {
			err = put(context.Background(), 12)
		}
		done <- err
	}()
	a.RemovePeer(b.Self())
	if err := receive(c, done); err != transport.ErrNoPeer {
		c.t.Errorf("got %v, want %v", err, transport.ErrNoPeer)
	}
}

func check(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	b.Handle(ch, r)
	no := errors.New("no")
	put := func(n uint64, check func() error) error {
		return a.Append(b.Self(), transport.Data, 0, ch, func(dst []byte) []byte {
			return append(dst, message(0, 0, n, 0)...)
		}, check)
	}
	c.must(put(1, func() error { return nil }))
	if err := put(2, func() error { return no }); err != no {
		c.t.Errorf("got %v, want the check's error", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				c.t.Error("a panic in check did not come through")
			}
		}()
		_ = put(3, func() error { panic("in check") })
	}()
	if err := a.Append(b.Self(), transport.Data, 0, ch, func(dst []byte) []byte { return dst[:0] }, nil); err == nil {
		c.t.Error("a fill that takes bytes away was accepted")
	}
	c.must(put(4, nil))
	c.progress(r, "the last", func() bool { return r.last(0) == 4 })
	if got := fmt.Sprint(r.of(0)); got != "[1 4]" {
		c.t.Errorf("got %v, want [1 4]", got)
	}
}

// fence: a sender that checks a route before it appends never comes behind a fence that was
// appended after the route was closed.
func fence(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	b.Handle(ch, r)
	closed := errors.New("closed")
	for round := range uint32(20) {
		var route struct {
			sync.Mutex
			shut bool
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				fill := func(dst []byte) []byte { return append(dst, message(0, round, 1, 0)...) }
				open := func() error {
					route.Lock()
					defer route.Unlock()
					if route.shut {
						return closed
					}
					return nil
				}
				for a.AppendWait(c.t.Context(), b.Self(), transport.Data, 1, ch, fill, open) == nil {
				}
			})
		}
		c.progress(r, "some frames", func() bool { return len(r.of(round)) > 50 })
		route.Lock()
		route.shut = true
		route.Unlock()
		c.must(a.AppendWait(c.t.Context(), b.Self(), transport.Data, 1, ch,
			func(dst []byte) []byte { return append(dst, message(0, round, 2, 0)...) }, nil))
		wg.Wait()
		c.must(a.AppendWait(c.t.Context(), b.Self(), transport.Data, 1, ch,
			func(dst []byte) []byte { return append(dst, message(0, round, 3, 0)...) }, nil))
		c.progress(r, "the end", func() bool { return r.last(round) == 3 })
		got := r.of(round)
		if got[len(got)-2] != 2 {
			c.t.Fatalf("round %d: a frame came behind the fence", round)
		}
	}
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func receive[T any](c *cluster, from <-chan T) T {
	c.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-from:
		return v
	case <-limit.C:
		c.t.Fatalf("nothing came for %v", patience)
		panic("unreachable")
	}
}
