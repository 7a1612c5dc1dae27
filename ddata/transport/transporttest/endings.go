package transporttest

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// losses is a LossHandler that keeps the numbers of what never left, and counts what may have
// arrived.
type losses struct {
	*recorder
	mu      sync.Mutex
	unsent  []uint64
	unknown int
}

// Lost takes a message that may not have arrived.
func (l *losses) Lost(_ transport.NodeID, payload []byte, sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent {
		l.unknown++
		return
	}
	l.unsent = append(l.unsent, binary.LittleEndian.Uint64(payload[8:]))
}

// exactly fails the case unless each of the first so many messages either came, or is known not to
// have left, in their order.
func (l *losses) exactly(c *cluster, came []uint64, sent uint64) {
	c.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append(came, l.unsent...)
	if l.unknown > 0 || uint64(len(all)) != sent || !rising(all) {
		c.t.Errorf("%d messages came and %d are known not to have, of %d, in order: %v; of %d nothing is known",
			len(came), len(l.unsent), sent, rising(all), l.unknown)
	}
}

// stream has a send numbered messages to b until that fails, or stop is closed. It returns how many
// a took.
func stream(c *cluster, a, b *node, stop <-chan struct{}) (taken <-chan uint64) {
	done := make(chan uint64, 1)
	go func() {
		for n := uint64(1); ; n++ {
			m := message(0, 0, n, 200)
			fill := func(dst []byte) []byte { return append(dst, m...) }
			if a.AppendWait(c.t.Context(), b.Self(), transport.Data, 0, ch, fill, nil) != nil {
				done <- n - 1
				return
			}
			select {
			case <-stop:
				done <- n
				return
			default:
			}
		}
	}()
	return done
}

// knownEnd: whichever side ends under load, the sender knows of each message whether it came.
func knownEnd(c *cluster) {
	for name, end := range map[string]func(a, b *node){
		"the receiver departs": func(a, b *node) {
			c.must(b.Depart(c.t.Context()))
			a.RemovePeer(b.Self())
		},
		"the receiver closes": func(a, b *node) {
			c.must(b.Close())
			a.RemovePeer(b.Self())
		},
		"both at once": func(a, b *node) {
			var wg sync.WaitGroup
			wg.Go(func() { _ = b.Close() })
			a.RemovePeer(b.Self())
			wg.Wait()
		},
	} {
		a, b := c.pair(func(cfg *transport.Config) { cfg.DataQueueMax = 64 << 10 })
		lost := &losses{recorder: newRecorder()}
		a.Handle(ch, lost)
		r := newRecorder()
		b.Handle(ch, r)
		stop := make(chan struct{})
		taken := stream(c, a, b, stop)
		c.progress(r, name+": traffic", func() bool { return r.count() > 1000 })
		end(a, b)
		close(stop)
		sent := receive(c, taken)
		c.must(a.Close())
		c.must(b.Close())
		lost.exactly(c, r.of(0), sent)
	}
}

// departed: a node that departs takes nothing from connections that are made afterwards either, and
// what is sent to it waits.
func departed(c *cluster) {
	a, b := c.pair(nil)
	lost := &losses{recorder: newRecorder()}
	a.Handle(ch, lost)
	r := newRecorder()
	b.Handle(ch, r)
	c.must(b.Depart(c.t.Context()))
	for n := uint64(1); n <= 10; n++ {
		c.must(a.Send(b.Self(), transport.Data, 0, ch, message(0, 0, n, 0)))
	}
	c.eventually("an end", func() bool { return len(a.events(transport.Data, 0)) >= 2 })
	c.join(b, a)
	c.must(b.Send(a.Self(), transport.Data, 0, ch, message(0, 1, 1, 0))) // it may send
	c.progress(lost.recorder, "what the departing node sends", func() bool { return lost.count() == 1 })
	a.RemovePeer(b.Self())
	c.must(a.Close())
	lost.exactly(c, r.of(0), 10)
}

// flush returns when the handlers of the peers have had everything.
func flush(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	hold := make(chan struct{})
	r.before = func() { <-hold }
	b.Handle(ch, r)
	c.must(a.Flush(c.t.Context()))
	const frames = 300
	for n := uint64(1); n <= frames; n++ {
		c.must(a.Send(b.Self(), transport.Data, uint32(n%2), ch, message(uint32(n%2), uint32(n%2), n, 100)))
	}
	var open atomic.Bool
	done := make(chan error, 1)
	go func() {
		err := a.Flush(c.t.Context())
		if !open.Load() {
			c.t.Error("it returned before the messages were handled")
		}
		done <- err
	}()
	c.eventually("written", func() bool { return a.Stats().FramesOut >= frames })
	open.Store(true)
	close(hold)
	c.must(receive(c, done))
	if n := r.count(); n != frames {
		c.t.Errorf("%d messages were received, want %d", n, frames)
	}
}

// asked is a context that tells when somebody waits for its end.
type asked struct {
	context.Context
	once  sync.Once
	waits chan struct{}
}

func (a *asked) Done() <-chan struct{} {
	a.once.Do(func() { close(a.waits) })
	return a.Context.Done()
}

// flushInVain: a peer that departs, is silent, or is removed does not keep Flush waiting.
func flushInVain(c *cluster) {
	for name, end := range map[string]func(a, b *node){
		"departs": func(_, b *node) { c.must(b.Depart(c.t.Context())) },
		"closes":  func(_, b *node) { c.must(b.Close()) },
		"silent":  func(a, _ *node) { a.wire.Down(errors.New("the suite says no")); a.wire.Break() },
		"removed": func(a, _ *node) { a.wire.Down(errors.New("the suite says no")); a.wire.Break() },
	} {
		a, b := c.pair(func(cfg *transport.Config) { cfg.Linger = 50 * time.Millisecond })
		r := newRecorder()
		b.Handle(ch, r)
		c.must(a.Send(b.Self(), transport.Data, 0, ch, message(0, 0, 1, 0)))
		c.progress(r, "a connection", func() bool { return r.count() == 1 })
		end(a, b)
		c.must(a.Send(b.Self(), transport.Data, 0, ch, message(0, 0, 1, 0)))
		ctx := &asked{Context: c.t.Context(), waits: make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- a.Flush(ctx) }()
		if name == "removed" {
			receive(c, ctx.waits)
			a.RemovePeer(b.Self())
		}
		if err := receive(c, done); !errors.Is(err, transport.ErrUnreceived) {
			c.t.Errorf("%s: %v", name, err)
		}
		c.must(a.Close())
	}
	a := c.start(func(cfg *transport.Config) { cfg.Linger = time.Hour })
	c.must(a.AddPeer(77, "127.0.0.1:9"))
	a.wire.Down(errors.New("the suite says no"))
	c.must(a.Send(77, transport.Data, 0, ch, nil))
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Millisecond)
	defer cancel()
	if err := a.Flush(ctx); !errors.Is(err, transport.ErrUnreceived) || !errors.Is(err, context.DeadlineExceeded) {
		c.t.Errorf("at the end of the time: %v", err)
	}
}
