package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// besieged is a node that serves another one, and the crowd of connections before it.
type besieged struct {
	t     *testing.T
	m     *Mesh
	crowd []net.Conn
}

func besiege(t *testing.T, edit func(*Config)) *besieged {
	t.Helper()
	cfg := Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0"}
	edit(&cfg)
	m, err := Listen(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Handle(1, HandlerFunc(func(from NodeID, p []byte) {
		if addr, ok := m.PeerAddr(from); ok {
			_ = m.SendAddr(addr, 1, p)
		}
	}))
	b := &besieged{t: t, m: m}
	t.Cleanup(func() {
		b.disperse()
		m.Close()
	})
	return b
}

func (b *besieged) disperse() {
	for _, c := range b.crowd {
		c.Close()
	}
	b.crowd = nil
}

// come opens n connections, each of which sends something and stays.
func (b *besieged) come(n int, says func(i int) []byte) {
	b.t.Helper()
	for i := range n {
		c, err := net.Dial("tcp", b.m.Addr())
		if err != nil {
			b.t.Fatal(err)
		}
		b.crowd = append(b.crowd, c)
		_, _ = c.Write(says(i))
	}
}

// serves says that a node which was never here before gets an answer.
func (b *besieged) serves(id NodeID) {
	b.t.Helper()
	m, err := Listen(b.t.Context(), Config{Cluster: "c", Self: id, Bind: "127.0.0.1:0"})
	if err != nil {
		b.t.Fatal(err)
	}
	defer m.Close()
	answers := make(chan string, 1)
	m.Handle(1, HandlerFunc(func(_ NodeID, p []byte) {
		select {
		case answers <- string(p):
		default:
		}
	}))
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for limit := time.After(10 * time.Second); ; {
		if err := m.SendAddr(b.m.Addr(), 1, []byte("still there?")); err != nil {
			b.t.Fatal(err)
		}
		select {
		case got := <-answers:
			if got != "still there?" {
				b.t.Errorf("answer %q", got)
			}
			return
		case <-again.C: // it may have been turned away: SendAddr tries once
		case <-limit:
			b.t.Fatalf("no answer; %v", b.m.Stats())
		}
	}
}

func (b *besieged) eventually(what string, cond func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(10 * time.Second); !cond(); {
		select {
		case <-tick.C:
		case <-limit:
			b.t.Fatalf("still not: %s; %v", what, b.m.Stats())
		}
	}
}

func hi(i int, k kind, to NodeID) []byte {
	addr := fmt.Sprintf("10.0.%d.%d:1", i>>8&255, i&255)
	h := hello{
		Formats: format.Build(),
		Cluster: "c", From: NodeID(1000 + i), To: to, Addr: addr, Generation: 1, Lane: Data, FrameMax: DefaultFrameMax,
	}
	b, err := appendHandshake(nil, k, h)
	if err != nil {
		panic(err)
	}
	return b
}

// Thousands of connections that say nothing, or one byte of a hello, cost a bounded number of
// goroutines. They keep no node out: the oldest of them are closed.
func TestSlowHellosKeepNobodyOut(t *testing.T) {
	b := besiege(t, func(c *Config) { c.HelloTimeout = time.Hour })
	before := runtime.NumGoroutine()
	b.come(4*handshakesMax, func(i int) []byte { return hi(0, kindLink, 1)[:i%12] })
	b.eventually("all were accepted", func() bool { return b.m.Stats().Accepted == 4*handshakesMax })
	b.eventually("few are left", func() bool { return runtime.NumGoroutine() <= before+handshakesMax+10 })
	b.eventually("all but the newest had to go", func() bool {
		return b.m.Stats().Dropped[DropOverload] == 3*handshakesMax
	})
	b.serves(2)
	b.disperse()
	b.eventually("none is left", func() bool {
		c := &b.m.in.conns
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.newcomers.waiting.Len() == 0 && len(c.open) <= 1
	})
	b.serves(3)
}

// ConnsMax bounds the connections that say hello as well.
func TestConnsMax(t *testing.T) {
	b := besiege(t, func(c *Config) { c.ConnsMax = 200 })
	b.come(300, func(i int) []byte { return hi(i, kindAddr, 0) })
	b.eventually("as many as may", func() bool {
		s := b.m.Stats()
		return s.Readers == 200 && s.Dropped[DropOverload] == 100
	})
	b.disperse()
	b.serves(2)
}

// Frames that announce much and bring little cost what they bring; a length beyond the limit, and
// garbage, end the connection.
func TestHugeLengthsCostNothing(t *testing.T) {
	b := besiege(t, func(*Config) {})
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc + s.StackInuse
	}
	before := heap()
	const n = 500
	b.come(n, func(i int) []byte {
		head := make([]byte, frame.HeaderSize, frame.HeaderSize+100)
		frame.PutHeader(head, 1, DefaultFrameMax)
		return append(hi(i, []kind{kindAddr, kindLink}[i%2], NodeID(i%2)), append(head, make([]byte, 100)...)...)
	})
	b.eventually("all are read", func() bool { return b.m.Stats().Readers == n })
	if cost := int64(heap()) - int64(before); cost > n*40<<10 {
		t.Errorf("%d connections of half a frame cost %d bytes each; together they announced %d MB",
			n, cost/n, n*DefaultFrameMax>>20)
	}
	b.serves(2)
	b.disperse()
	b.eventually("all are gone", func() bool { return b.m.Stats().Readers <= 1 })
	protocol := b.m.Stats().Dropped[DropProtocol]
	b.come(n, func(i int) []byte {
		switch i % 3 {
		case 0:
			return append(hi(i, kindAddr, 0), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0)
		case 1:
			return []byte("GET / HTTP/1.1\r\n\r\n")
		}
		bad := hi(i, kindAddr, 0)
		bad[7]++ // another length: the body is no hello any more
		return append(bad, 0)
	})
	for _, c := range b.crowd {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Fatalf("a connection of garbage is still there; %v", b.m.Stats())
			}
		}
	}
	if got := b.m.Stats().Dropped[DropProtocol] - protocol; got < n/3*2 {
		t.Errorf("%d breaches of the protocol were counted", got)
	}
	b.serves(3)
}

// Streams that no acceptor reads are counted, and end with the node.
func TestStreamsAreBounded(t *testing.T) {
	b := besiege(t, func(c *Config) { c.ConnsMax = 50 })
	ctx, cancel := context.WithCancel(t.Context())
	b.m.HandleStream(0, func(_ NodeID, conn net.Conn) {
		<-ctx.Done()
		conn.Close()
	})
	b.come(80, func(i int) []byte { return hi(i, kindStream, 0) })
	b.eventually("as many as may", func() bool {
		s := b.m.Stats()
		return s.Streams == 50 && s.Dropped[DropOverload] == 30
	})
	cancel()
	b.eventually("ended", func() bool { return b.m.Stats().Streams == 0 })
	b.serves(2)
}
