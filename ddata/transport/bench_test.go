package transport_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport"
)

var benchChannel = transport.ChannelOf("bench")

func benchPair(b *testing.B) (a, z *transport.Mesh) {
	b.Helper()
	start := func(id transport.NodeID) *transport.Mesh {
		m, err := transport.Listen(b.Context(), transport.Config{Cluster: "bench", Self: id, Bind: "127.0.0.1:0"})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { m.Close() })
		return m
	}
	a, z = start(1), start(2)
	if err := a.AddPeer(2, z.Addr()); err != nil {
		b.Fatal(err)
	}
	if err := z.AddPeer(1, a.Addr()); err != nil {
		b.Fatal(err)
	}
	return a, z
}

// counter counts frames and closes done at the n-th.
type counter struct {
	n    int64
	seen atomic.Int64
	done chan struct{}
}

func (c *counter) Receive(transport.NodeID, []byte) {
	if c.seen.Add(1) == c.n {
		close(c.done)
	}
}

func oneWay(b *testing.B, senders, stripes int) {
	a, z := benchPair(b)
	c := &counter{n: int64(b.N), done: make(chan struct{})}
	z.Handle(benchChannel, c)
	payload := make([]byte, 100)
	fill := func(dst []byte) []byte { return append(dst, payload...) }
	b.SetBytes(100)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for range share(b.N, senders, s) {
				if err := a.Send(2, transport.Data, uint32(s%stripes), benchChannel, payload); err == nil {
					continue
				}
				if err := a.AppendWait(context.Background(), 2, transport.Data, uint32(s%stripes), benchChannel,
					fill, nil); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	<-c.done
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mframes/s")
}

func share(n, senders, s int) int {
	if s == 0 {
		return n/senders + n%senders
	}
	return n / senders
}

func BenchmarkOneWay100B(b *testing.B) {
	b.Run("mesh/1", func(b *testing.B) { oneWay(b, 1, 1) })
	b.Run("raw/1", func(b *testing.B) { rawOneWay(b) })
	b.Run("mesh/16", func(b *testing.B) { oneWay(b, 16, 1) })
	b.Run("mesh/16x4", func(b *testing.B) { oneWay(b, 16, 4) })
}

// rawOneWay is the baseline: one sender, bufio on both sides, length-prefixed frames, nothing else.
func rawOneWay(b *testing.B) {
	client, server := rawPair(b)
	done := make(chan error, 1)
	go func() {
		r := bufio.NewReaderSize(server, 64<<10)
		var head [4]byte
		for range b.N {
			if _, err := io.ReadFull(r, head[:]); err != nil {
				done <- err
				return
			}
			n := int(binary.LittleEndian.Uint32(head[:]))
			if _, err := r.Peek(n); err != nil {
				done <- err
				return
			}
			_, _ = r.Discard(n)
		}
		done <- nil
	}()
	w := bufio.NewWriterSize(client, 64<<10)
	payload := make([]byte, 100)
	var head [4]byte
	b.SetBytes(100)
	b.ResetTimer()
	for range b.N {
		binary.LittleEndian.PutUint32(head[:], uint32(len(payload)))
		_, _ = w.Write(head[:])
		_, _ = w.Write(payload)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mframes/s")
}

func rawPair(b *testing.B) (client, server net.Conn) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	server, err = ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

func BenchmarkPingPong100B(b *testing.B) {
	b.Run("mesh/1", func(b *testing.B) { pingPong(b, 1) })
	b.Run("mesh/64", func(b *testing.B) { pingPong(b, 64) })
	b.Run("raw/1", rawPingPong)
}

func pingPong(b *testing.B, callers int) {
	a, z := benchPair(b)
	z.Handle(benchChannel, transport.HandlerFunc(func(from transport.NodeID, p []byte) {
		if err := z.Send(from, transport.Control, 0, benchChannel, p); err != nil {
			b.Error(err)
		}
	}))
	waiting := make([]chan struct{}, callers)
	for i := range waiting {
		waiting[i] = make(chan struct{}, 1)
	}
	a.Handle(benchChannel, transport.HandlerFunc(func(_ transport.NodeID, p []byte) {
		waiting[binary.LittleEndian.Uint32(p)] <- struct{}{}
	}))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			payload := make([]byte, 100)
			binary.LittleEndian.PutUint32(payload, uint32(c))
			for range share(b.N, callers, c) {
				if err := a.Send(2, transport.Control, 0, benchChannel, payload); err != nil {
					b.Error(err)
					return
				}
				<-waiting[c]
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e3, "kcalls/s")
}

func rawPingPong(b *testing.B) {
	client, server := rawPair(b)
	go func() { _, _ = io.Copy(struct{ io.Writer }{server}, struct{ io.Reader }{server}) }()
	payload := make([]byte, 108)
	b.ResetTimer()
	for range b.N {
		if _, err := client.Write(payload); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(client, payload); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e3, "kcalls/s")
}
