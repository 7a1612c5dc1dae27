package transporttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

func sendAddr(c *cluster) {
	a, b := c.start(nil), c.start(nil)
	addrs := make(chan string, 10)
	b.Handle(ch, transport.HandlerFunc(func(from transport.NodeID, p []byte) {
		addr, ok := b.PeerAddr(from)
		if !ok || from != a.Self() {
			addr = "unknown"
		}
		addrs <- addr
		if err := b.SendAddr(addr, ch, p); err != nil {
			c.t.Errorf("reply: %v", err)
		}
	}))
	back := make(chan string, 10)
	a.Handle(ch, transport.HandlerFunc(func(_ transport.NodeID, p []byte) { back <- string(p) }))
	c.must(a.SendAddr(b.Addr(), ch, []byte("name yourself")))
	if got := receive(c, addrs); got != a.Addr() {
		c.t.Errorf("the sender is at %q, want %q", got, a.Addr())
	}
	if got := receive(c, back); got != "name yourself" {
		c.t.Errorf("reply %q", got)
	}
	if id, ok := a.AddrPeer(b.Addr()); !ok || id != b.Self() {
		c.t.Errorf("%v answers at %s, want %v", id, b.Addr(), b.Self())
	}
	if id, ok := a.AddrPeer(a.Addr()); !ok || id != a.Self() {
		c.t.Errorf("%v answers at the own address", id)
	}
	if id, ok := a.AddrPeer("127.0.0.1:9"); ok {
		c.t.Errorf("%v answers at an address that was never dialled", id)
	}
	if _, ok := a.PeerAddr(12345); ok {
		c.t.Error("an unknown peer has an address")
	}
}

func sendUnhandled(c *cluster) {
	a := c.start(nil)
	a.wire.Down(errors.New("the suite says no"))
	c.must(a.SendAddr("127.0.0.1:9", ch, []byte("hello?")))
	c.must(a.SendAddr("127.0.0.1:9", ch, []byte("hello?")))
	c.eventually("counted", func() bool { return a.Stats().Dropped[transport.DropUnreachable] == 2 })
}

func sendAddrIdle(c *cluster) {
	a, b := c.start(func(cfg *transport.Config) { cfg.AddrIdle = 50 * time.Millisecond }), c.start(nil)
	r := newRecorder()
	b.Handle(ch, r)
	for n := uint64(1); n <= 3; n++ {
		c.must(a.SendAddr(b.Addr(), ch, message(0, 0, n, 0)))
		c.progress(r, "there", func() bool { return r.last(0) == n })
		c.eventually("closed", func() bool { return a.Stats().LinksUp == 0 && b.Stats().Readers == 0 })
	}
	if n := a.Stats().Dials; n != 3 {
		c.t.Errorf("dialled %d times, want 3", n)
	}
}

func sendPacket(c *cluster) {
	a := c.start(func(cfg *transport.Config) { cfg.PacketQueueMax = 1000 })
	b := c.start(nil)
	out := make(chan string, 10)
	b.Handle(ch, transport.HandlerFunc(func(_ transport.NodeID, p []byte) { out <- string(p) }))
	c.must(a.SendPacket(0, b.Addr(), ch, []byte("by address")))
	if got := receive(c, out); got != "by address" {
		c.t.Errorf("got %q", got)
	}
	c.join(a, b)
	c.must(a.SendPacket(b.Self(), b.Addr(), ch, []byte("by id")))
	if got := receive(c, out); got != "by id" {
		c.t.Errorf("got %q", got)
	}
	a.wire.Down(errors.New("the suite says no"))
	c.must(a.AddPeer(77, "127.0.0.1:9"))
	for range 10 {
		c.must(a.SendPacket(77, "127.0.0.1:9", ch, make([]byte, 92)))
	}
	if err := a.SendPacket(77, "127.0.0.1:9", ch, nil); err != transport.ErrQueueFull {
		c.t.Errorf("got %v", err)
	}
	if n := a.Stats().Dropped[transport.DropPacket]; n != 1 {
		c.t.Errorf("counted %d, want 1", n)
	}
	c.must(a.Send(77, transport.Control, 0, ch, nil)) // a full packet queue leaves room for the rest
}

func removePeer(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	b.Handle(ch, r)
	c.awaitUp(a, b, transport.Control)
	for n := uint64(1); n <= 1000; n++ {
		c.must(a.Send(b.Self(), transport.Control, 0, ch, message(0, 0, n, 100)))
	}
	a.RemovePeer(b.Self())
	if err := a.Send(b.Self(), transport.Control, 0, ch, nil); err != transport.ErrNoPeer {
		c.t.Errorf("got %v", err)
	}
	c.progress(r, "all", func() bool { return r.count() == 1000 })
	c.join(a, b)
	c.must(a.Send(b.Self(), transport.Control, 0, ch, message(0, 0, 1001, 0)))
	c.progress(r, "a new link", func() bool { return r.last(0) == 1001 })
}

// addedAgain: the receiver still counts the frames of the link that was removed. What the new one
// sends needs receipts to go on, and no receipt may break it.
func addedAgain(c *cluster) {
	a, b := c.pair(func(cfg *transport.Config) { cfg.DataKeepMax = 256 << 10 })
	c.join(b, a)
	r := newRecorder()
	b.Handle(ch, r)
	put := func(first, last uint64) {
		for n := first; n <= last; n++ {
			m := message(0, 0, n, 10<<10)
			c.must(a.AppendWait(c.t.Context(), b.Self(), transport.Data, 0, ch,
				func(dst []byte) []byte { return append(dst, m...) }, nil))
		}
		c.progress(r, "the last", func() bool { return r.last(0) == last })
	}
	put(1, 200)
	a.RemovePeer(b.Self())
	c.join(a, b)
	put(201, 201)
	link := a.Connected(b.Self(), transport.Data, 0)
	put(202, 400)
	if got := r.of(0); len(got) != 400 || !rising(got) {
		c.t.Errorf("%d frames, in order %v", len(got), rising(got))
	}
	if now := a.Connected(b.Self(), transport.Data, 0); now != link {
		c.t.Errorf("the connection was %+v and is %+v; %v", link, now, a.Stats())
	}
}

func setPeers(c *cluster) {
	a, b, d := c.start(nil), c.start(nil), c.start(nil)
	c.must(a.SetPeers(map[transport.NodeID]string{b.Self(): b.Addr(), a.Self(): a.Addr()}))
	c.awaitUp(a, b, transport.Control)
	gen := a.Connected(b.Self(), transport.Control, 0).Generation
	c.must(a.SetPeers(map[transport.NodeID]string{b.Self(): b.Addr(), d.Self(): d.Addr()}))
	c.awaitUp(a, d, transport.Control)
	if s := a.Connected(b.Self(), transport.Control, 0); s.Generation != gen || !s.Up {
		c.t.Errorf("the link that stays is %+v", s)
	}
	err := a.SetPeers(map[transport.NodeID]string{d.Self(): d.Addr(), 5: "bad"})
	if !errors.Is(err, transport.ErrBadAddr) {
		c.t.Errorf("got %v", err)
	}
	if addr, ok := a.PeerAddr(d.Self()); !ok || addr != d.Addr() {
		c.t.Errorf("PeerAddr is %q, %v", addr, ok)
	}
	if err := a.Send(b.Self(), transport.Control, 0, ch, nil); err != transport.ErrNoPeer {
		c.t.Errorf("got %v", err)
	}
}

func streams(c *cluster) {
	a, b := c.start(nil), c.start(nil)
	name := transport.ChannelOf("echo")
	_, err := a.DialStream(c.t.Context(), b.Addr(), name)
	var refused transport.ErrRefused
	if !errors.As(err, &refused) || refused.Reason != transport.RefusedStream {
		c.t.Errorf("got %v", err)
	}
	b.HandleStream(name, func(_ transport.NodeID, conn net.Conn) {
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	})
	conn, err := a.DialStream(c.t.Context(), b.Addr(), name)
	c.must(err)
	want := bytes.Repeat([]byte("stream "), 100)
	_, err = conn.Write(want)
	c.must(err)
	got := make([]byte, len(want))
	_, err = io.ReadFull(conn, got)
	c.must(err)
	if !bytes.Equal(got, want) {
		c.t.Error("altered")
	}
	c.must(conn.Close())
	c.eventually("forgotten", func() bool { return a.Stats().Streams == 0 && b.Stats().Streams == 0 })

	conn, err = a.DialStream(c.t.Context(), b.Addr(), name)
	c.must(err)
	c.must(b.Close())
	if _, err := conn.Read(got); err == nil {
		c.t.Error("a stream outlived the other side")
	}
	c.must(conn.Close())
}

func closeWithTraffic(c *cluster) {
	a, b := c.pair(nil)
	c.join(b, a)
	ra, rb := newRecorder(), newRecorder()
	a.Handle(ch, ra)
	b.Handle(ch, rb)
	var wg sync.WaitGroup
	for _, way := range [][2]*node{{a, b}, {b, a}} {
		wg.Go(func() {
			for n := uint64(1); ; n++ {
				m := message(0, 0, n, 100)
				if way[0].AppendWait(c.t.Context(), way[1].Self(), transport.Data, 0, ch,
					func(dst []byte) []byte { return append(dst, m...) }, nil) != nil {
					return
				}
			}
		})
	}
	c.progress(ra, "traffic", func() bool { return ra.count() > 1000 })
	c.progress(rb, "traffic", func() bool { return rb.count() > 1000 })
	c.must(a.Close())
	c.must(b.Close())
	wg.Wait()
	for _, n := range []*node{a, b} {
		if s := n.Stats(); s.LinksUp != 0 || s.Readers != 0 || s.Streams != 0 {
			c.t.Errorf("after Close: %v", s)
		}
	}
}

func garbage(c *cluster) {
	b := c.start(func(cfg *transport.Config) {
		cfg.HelloTimeout, cfg.DrainTimeout = 300*time.Millisecond, 100*time.Millisecond
	})
	a := c.start(nil)
	network, _ := c.u.Site()
	send := func(what string, data []byte) {
		conn, err := network.Dial(c.t.Context(), b.Addr())
		c.must(err)
		defer conn.Close()
		_, _ = conn.Write(data)
		c.must(conn.SetReadDeadline(time.Now().Add(patience)))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, errTimeout) {
			c.t.Errorf("%s: still connected", what)
		}
	}
	send("another protocol", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	send("silence", nil)
	send("half a header", []byte{0xC0, 'T', 'R', 'Y'})
	send("a long hello", []byte{0xC0, 'T', 'R', 'Y', 1, 1, 0xFF, 0xFF})
	send("a hello of nothing", []byte{0xC0, 'T', 'R', 'Y', 1, 1, 0, 1, 0xA0})
	send("another version", []byte{0xC0, 'T', 'R', 'Y', 9, 1, 0, 0})
	if c.configure != nil {
		return // under TLS all of it is a failed TLS handshake
	}
	s := b.Stats()
	if s.Dropped[transport.DropProtocol] != 2 || s.Dropped[transport.DropHandshake] != 2 ||
		s.Dropped[transport.DropRefusedIn] != 2 {
		c.t.Errorf("counted %v", s)
	}
	// A frame of 4 GiB, behind a proper hello.
	a.wire.Network = rewriter{network: a.wire.Network}
	c.must(a.AddPeer(b.Self(), b.Addr()))
	c.must(a.Send(b.Self(), transport.Control, 0, ch, []byte("x")))
	c.eventually("cut off", func() bool { return b.Stats().Dropped[transport.DropProtocol] >= 3 })
}

var huge = binary.LittleEndian.AppendUint32(nil, 0xFFFFFFFF)
