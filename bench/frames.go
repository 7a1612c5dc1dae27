package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata/transport"
)

// runFrames measures frames of the Data lane between two nodes' transports on loopback in this
// process, one way and as ping-pong, beside raw framed TCP. Both sides of both share the machine.
func runFrames(ctx context.Context, o options) error {
	for _, n := range []int{1, 64} {
		limit, err := rawOneWayFrom(n, o.d/2)
		if err != nil {
			return err
		}
		l, err := oneWay(ctx, n, o.d)
		if err != nil {
			return err
		}
		var f measure.Figures
		f.Add("frames_per_s", int(l.PerSecond()))
		f.Add("ns_per_frame", measure.NsPerOp(l))
		f.Add("limit_frames_per_s", int(limit.PerSecond()))
		f.Add("ratio", l.PerSecond()/limit.PerSecond())
		measure.AddCPU(&f, l, limit)
		measure.Report("frames", fmt.Sprintf("one-way-%d-callers", n), f)
	}
	for _, n := range []int{1, 64} {
		limit, err := pingPong(n, o.d/2)
		if err != nil {
			return err
		}
		m, err := newMeshes(ctx)
		if err != nil {
			return err
		}
		ping := m.pinger(transport.Data, n)
		l, err := measure.Callers(n, o.d, func(c, _ int) error { return ping(ctx, c) })
		m.close()
		if err != nil {
			return err
		}
		f := l.Figures()
		f.Add("limit_ops_per_s", int(limit.PerSecond()))
		f.Add("limit_p99_us", limit.Percentile(0.99))
		f.Add("ratio", l.PerSecond()/limit.PerSecond())
		measure.Report("frames", fmt.Sprintf("ping-pong-%d-callers", n), f)
	}
	return nil
}

// meshes are the transports of two nodes that are each other's peers.
type meshes struct{ a, b *transport.Mesh }

func newMeshes(ctx context.Context) (*meshes, error) {
	a, err := transport.Listen(ctx, transport.Config{Cluster: "bench", Self: 1, Bind: "127.0.0.1:0"})
	if err != nil {
		return nil, err
	}
	b, err := transport.Listen(ctx, transport.Config{Cluster: "bench", Self: 2, Bind: "127.0.0.1:0"})
	if err != nil {
		a.Close()
		return nil, err
	}
	m := &meshes{a, b}
	if err := errors.Join(a.AddPeer(b.Self(), b.Addr()), b.AddPeer(a.Self(), a.Addr())); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *meshes) close() {
	m.a.Close()
	m.b.Close()
}

// pinger answers frames of one lane with themselves, and returns what sends one and waits for its
// answer.
func (m *meshes) pinger(lane transport.Lane, n int) func(ctx context.Context, caller int) error {
	ch := transport.ChannelOf("ping/" + lane.String())
	answers := make([]chan struct{}, n)
	frames := make([][]byte, n)
	for i := range answers {
		answers[i], frames[i] = make(chan struct{}, 1), make([]byte, payload)
		binary.BigEndian.PutUint32(frames[i], uint32(i))
	}
	m.b.Handle(ch, transport.HandlerFunc(func(from transport.NodeID, p []byte) { _ = m.b.Send(from, lane, 0, ch, p) }))
	m.a.Handle(ch, transport.HandlerFunc(func(_ transport.NodeID, p []byte) {
		answers[binary.BigEndian.Uint32(p)] <- struct{}{}
	}))
	return func(ctx context.Context, c int) error {
		fill := func(dst []byte) []byte { return append(dst, frames[c]...) }
		if err := m.a.AppendWait(ctx, m.b.Self(), lane, 0, ch, fill, nil); err != nil {
			return err
		}
		select {
		case <-answers[c]:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// oneWay counts what the handler got; the time runs until the last frame is there.
func oneWay(ctx context.Context, n int, d time.Duration) (measure.Load, error) {
	m, err := newMeshes(ctx)
	if err != nil {
		return measure.Load{}, err
	}
	defer m.close()
	ch := transport.ChannelOf("one way")
	got := newTally()
	m.b.Handle(ch, transport.HandlerFunc(func(transport.NodeID, []byte) { got.one() }))
	frame := make([]byte, payload)
	fill := func(dst []byte) []byte { return append(dst, frame...) }
	put := func() error { return m.a.AppendWait(ctx, m.b.Self(), transport.Data, 0, ch, fill, nil) }
	if err := put(); err != nil { // it is connected
		return measure.Load{}, err
	}
	if err := got.await(ctx, 1); err != nil {
		return measure.Load{}, err
	}
	l, err := handled(n, d, func(int, int) error { return put() }, func() error { return nil })
	if err != nil {
		return l, err
	}
	start := time.Now()
	if err := got.await(ctx, l.Ops+1); err != nil {
		return l, err
	}
	l.Elapsed += time.Since(start)
	return l, nil
}

// tally counts what one goroutine handles, and lets another wait for a number.
type tally struct {
	n    atomic.Int64
	want atomic.Int64
	done chan struct{} // capacity 1
}

func newTally() *tally {
	t := &tally{done: make(chan struct{}, 1)}
	t.want.Store(-1)
	return t
}

func (t *tally) one() {
	if t.n.Add(1) == t.want.Load() {
		select {
		case t.done <- struct{}{}:
		default:
		}
	}
}

func (t *tally) await(ctx context.Context, n int) error {
	t.want.Store(int64(n))
	if t.n.Load() == int64(n) {
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d of %d frames came: %w", t.n.Load(), n, ctx.Err())
	}
}

// rawOneWayFrom is rawOneWay from several callers over one connection, and to a peer in this
// process.
func rawOneWayFrom(n int, d time.Duration) (measure.Load, error) {
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return measure.Load{}, err
	}
	defer raw.Close()
	go serveRaw(raw)
	w, err := dialRawLine(raw.Addr().String())
	if err != nil {
		return measure.Load{}, err
	}
	defer w.end()
	frame := make([]byte, payload)
	return handled(n, d, func(int, int) error { w.put(frame); return nil }, w.echoed)
}

// runLanes measures the latency of the Control lane while the Data lane is flooded and a snapshot
// of 100 MB streams in the Bulk lane. Beside it, in turn with it, a raw ping-pong over a connection
// of its own, which the same load disturbs; both at rest, too; and the same ping in the flooded
// lane.
func runLanes(ctx context.Context, o options) error {
	m, err := newMeshes(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	raw, stopRaw, err := rawPinger()
	if err != nil {
		return err
	}
	defer stopRaw()
	pingControl, pingData := m.pinger(transport.Control, 1), m.pinger(transport.Data, 1)
	control := func() error { return pingControl(ctx, 0) }
	rest, limitAtRest, err := inTurn(o.d/2, nil, control, raw)
	if err != nil {
		return err
	}
	var flooded, stop = int64(0), make(chan struct{})
	sink := transport.ChannelOf("sink")
	m.b.Handle(sink, transport.HandlerFunc(func(transport.NodeID, []byte) {}))
	var wg sync.WaitGroup
	wg.Go(func() { flooded = m.flood(ctx, sink, stop) })
	size, streamed := o.size(100)<<20, make(chan struct{})
	var took time.Duration
	var streamErr error
	start := time.Now()
	wg.Go(func() {
		streamErr = m.stream(ctx, size)
		took = time.Since(start)
		close(streamed)
	})
	var behind measure.Load
	var behindErr error
	wg.Go(func() { behind, behindErr = alone(streamed, func() error { return pingData(ctx, 0) }) })
	busy, limit, err := inTurn(0, streamed, control, raw)
	close(stop)
	wg.Wait()
	if err = errors.Join(err, streamErr, behindErr); err != nil {
		return err
	}
	var f measure.Figures
	f.Add("control_p50_us", busy.Percentile(0.5))
	f.Add("control_p99_us", busy.Percentile(0.99))
	f.Add("pings", busy.Ops)
	f.Add("limit_p50_us", limit.Percentile(0.5))
	f.Add("limit_p99_us", limit.Percentile(0.99))
	f.Add("ratio_p99", busy.Percentile(0.99)/limit.Percentile(0.99))
	f.Add("at_rest_p99_us", rest.Percentile(0.99))
	f.Add("limit_at_rest_p99_us", limitAtRest.Percentile(0.99))
	f.Add("in_flooded_lane_p99_us", behind.Percentile(0.99))
	f.Add("flood_frames_per_s", int(float64(flooded)/took.Seconds()))
	f.Add("snapshot_mb", size>>20)
	f.Add("snapshot_mb_per_s", float64(size>>20)/took.Seconds())
	measure.Report("lanes", "flood-and-snapshot", f)
	return nil
}

// flood fills the Data lane until stop is closed, and counts.
func (m *meshes) flood(ctx context.Context, ch transport.Channel, stop <-chan struct{}) (n int64) {
	frame := make([]byte, payload)
	fill := func(dst []byte) []byte { return append(dst, frame...) }
	for ; ; n++ {
		select {
		case <-stop:
			return n
		default:
		}
		if m.a.AppendWait(ctx, m.b.Self(), transport.Data, 0, ch, fill, nil) != nil {
			return n
		}
	}
}

// stream sends so many bytes in the Bulk lane, in chunks, and returns when all have been handled.
func (m *meshes) stream(ctx context.Context, size int) error {
	const chunk = 64 << 10
	ch := transport.ChannelOf("snapshot")
	got := newTally()
	m.b.Handle(ch, transport.HandlerFunc(func(transport.NodeID, []byte) { got.one() }))
	part := make([]byte, chunk)
	fill := func(dst []byte) []byte { return append(dst, part...) }
	for range size / chunk {
		if err := m.a.AppendWait(ctx, m.b.Self(), transport.Bulk, 0, ch, fill, nil); err != nil {
			return err
		}
	}
	return got.await(ctx, size/chunk)
}

// inTurn pings in two ways, one after the other, for d or until done is closed.
func inTurn(d time.Duration, done <-chan struct{}, one, other func() error) (a, b measure.Load, err error) {
	start := time.Now()
	for {
		for _, w := range []struct {
			l    *measure.Load
			ping func() error
		}{{&a, one}, {&b, other}} {
			t := time.Now()
			if err := w.ping(); err != nil {
				return a, b, err
			}
			w.l.Lat = append(w.l.Lat, time.Since(t))
			w.l.Ops++
		}
		over := done == nil && time.Since(start) > d
		select {
		case <-done:
			over = true
		default:
		}
		if over {
			a.Sort()
			b.Sort()
			return a, b, nil
		}
	}
}

// alone pings until done is closed.
func alone(done <-chan struct{}, ping func() error) (l measure.Load, err error) {
	for {
		select {
		case <-done:
			l.Sort()
			return l, nil
		default:
		}
		t := time.Now()
		if err := ping(); err != nil {
			return l, err
		}
		l.Lat = append(l.Lat, time.Since(t))
	}
}

// rawPinger pings over a TCP connection of its own, blocking, with nothing in between.
func rawPinger() (ping func() error, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			_, _ = io.Copy(c, c)
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	out, in := make([]byte, payload), make([]byte, payload)
	return func() error {
			if _, err := conn.Write(out); err != nil {
				return err
			}
			_, err := io.ReadFull(conn, in)
			return err
		}, func() {
			conn.Close()
			l.Close()
		}, nil
}
