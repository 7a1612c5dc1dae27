package transporttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/ddata/transport"
)

// patterned is a message of a size whose every byte follows from number.
func patterned(number uint64, size int) []byte {
	b := message(0, 0, number, size)
	for i := 16; i < len(b); i++ {
		b[i] = byte(uint64(i)*7 + number)
	}
	return b
}

// whole takes patterned messages: their numbers go to r, those that are altered to bad.
func whole(r *recorder, bad chan<- string) transport.Handler {
	return transport.HandlerFunc(func(from transport.NodeID, p []byte) {
		if n := binary.LittleEndian.Uint64(p[8:]); !bytes.Equal(p[16:], patterned(n, len(p))[16:]) {
			select {
			case bad <- fmt.Sprintf("message %d of %d bytes is altered", n, len(p)):
			default:
			}
		}
		r.Receive(from, p)
	})
}

// large: messages around and far above FrameMax, by Send and by Append, keep their place among the
// others.
func large(c *cluster) {
	const frame, most = 1000, 70_000
	a, b := c.pair(func(cfg *transport.Config) { cfg.FrameMax, cfg.MessageMax = frame, most })
	r, bad := newRecorder(), make(chan string, 1)
	b.Handle(ch, whole(r, bad))
	sizes := []int{
		16, frame - 1, frame, frame + 1, 2*frame - 5, 2*frame - 4, 2*frame - 3, 3*frame - 4, 16, most - 1, most,
	}
	var wg sync.WaitGroup
	for stripe := range uint32(2) {
		wg.Go(func() {
			for n := range uint64(200) {
				m := patterned(n+1, sizes[n%uint64(len(sizes))])
				binary.LittleEndian.PutUint32(m, stripe)
				binary.LittleEndian.PutUint32(m[4:], stripe)
				fill := func(dst []byte) []byte { return append(dst, m...) }
				err := transport.ErrQueueFull
				if n%2 == 0 {
					err = a.Send(b.Self(), transport.Data, stripe, ch, m)
				}
				if errors.Is(err, transport.ErrQueueFull) {
					err = a.AppendWait(c.t.Context(), b.Self(), transport.Data, stripe, ch, fill, nil)
				}
				if err != nil {
					c.t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	c.progress(r, "all there", func() bool { return r.count() == 400 })
	for stripe := range uint32(2) {
		if got := r.of(stripe); len(got) != 200 || !rising(got) {
			c.t.Errorf("stripe %d: %d messages, in order: %v", stripe, len(got), rising(got))
		}
	}
	select {
	case what := <-bad:
		c.t.Error(what)
	default:
	}
	for _, lane := range []transport.Lane{transport.Control, transport.Bulk} {
		if err := a.Send(b.Self(), lane, 0, ch, make([]byte, frame+1)); !errors.Is(err, transport.ErrFrameTooLarge) {
			c.t.Errorf("%v takes more than a frame: %v", lane, err)
		}
	}
}

// largeReconnect: a message that breaks off is not handed over, and comes whole over the next
// connection, once.
func largeReconnect(c *cluster) {
	a, b := c.pair(func(cfg *transport.Config) { cfg.FrameMax = 4000 })
	r, bad := newRecorder(), make(chan string, 1)
	b.Handle(ch, whole(r, bad))
	const count = 120
	done := make(chan error, 1)
	go func() {
		for n := uint64(1); n <= count; n++ {
			m := patterned(n, 150_000)
			err := a.AppendWait(c.t.Context(), b.Self(), transport.Data, 0, ch,
				func(dst []byte) []byte { return append(dst, m...) }, nil)
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range 5 {
		c.progress(r, "progress", func() bool { return r.count() > i*count/6 })
		a.wire.Break()
	}
	c.must(receive(c, done))
	c.progress(r, "the last", func() bool { return r.last(0) == count })
	if got := r.of(0); len(got) != count || !rising(got) || r.overlap.Load() {
		c.t.Errorf("%d messages of %d, in order: %v", len(got), count, rising(got))
	}
	select {
	case what := <-bad:
		c.t.Error(what)
	default:
	}
	if s := a.Stats(); s.Dropped[transport.DropConnLost] != 0 || s.Resent == 0 {
		c.t.Errorf("lost, or nothing sent again: %v", s)
	}
}
