package transporttest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/transport"
)

// reconnect: a connection that breaks under load loses, doubles and reorders nothing.
func reconnect(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	r.before = runtime.Gosched
	b.Handle(ch, r)
	var sent atomic.Uint64
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for n := uint64(1); ; n++ {
			m := message(0, 0, n, 200)
			err := a.AppendWait(c.t.Context(), b.Self(), transport.Data, 0, ch,
				func(dst []byte) []byte { return append(dst, m...) }, nil)
			if err != nil {
				done <- err
				return
			}
			sent.Store(n)
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
		}
	}()
	for range 8 {
		before := r.count()
		c.progress(r, "progress", func() bool { return r.count() > before+500 })
		a.wire.Break()
	}
	before := r.count()
	c.progress(r, "progress after the last break", func() bool { return r.count() > before })
	close(stop)
	c.must(receive(c, done))
	c.progress(r, "the last frame", func() bool { return r.last(0) == sent.Load() })
	got := r.of(0)
	if !rising(got) {
		c.t.Error("frames came twice or out of order")
	}
	if uint64(len(got)) != sent.Load() {
		c.t.Errorf("%d frames of %d came", len(got), sent.Load())
	}
	if s := a.Stats(); s.Dropped[transport.DropConnLost] != 0 {
		c.t.Errorf("counted as lost: %v", s)
	}
	if r.overlap.Load() {
		c.t.Error("two connections of one stripe were read at a time")
	}
}

func queuedWhileDown(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	b.Handle(ch, r)
	c.awaitUp(a, b, transport.Control)
	a.wire.Down(errors.New("the suite says no"))
	a.wire.Break()
	c.eventually("down", func() bool { return !a.Connected(b.Self(), transport.Control, 0).Up })
	for n := uint64(1); n <= 100; n++ {
		c.must(a.Send(b.Self(), transport.Control, 0, ch, message(0, 0, n, 0)))
	}
	a.wire.Down(nil)
	c.progress(r, "all", func() bool { return r.count() == 100 })
	if !rising(r.of(0)) {
		c.t.Error("out of order")
	}
}

// successor: a handler holds up the first connection while the second one is dialled.
func successor(c *cluster) {
	a, b := c.pair(nil)
	r := newRecorder()
	c.awaitUp(a, b, transport.Control)
	hold, held := make(chan struct{}), make(chan struct{})
	first := true
	r.before = func() {
		if first {
			first = false
			close(held)
			<-hold
		}
	}
	b.Handle(ch, r)
	put := func(n uint64) { c.must(a.Send(b.Self(), transport.Data, 0, ch, message(0, 0, n, 0))) }
	put(1)
	receive(c, held)
	for n := uint64(2); n <= 50; n++ {
		put(n)
	}
	gen := a.Connected(b.Self(), transport.Data, 0).Generation
	c.eventually("written", func() bool { return a.Stats().FramesOut >= 50 })
	a.wire.Break()
	for n := uint64(51); n <= 100; n++ {
		put(n)
	}
	c.eventually("a second attempt", func() bool { return b.Stats().Accepted >= 4 }) // control and data, twice each
	if a.Connected(b.Self(), transport.Data, 0) != (transport.LinkState{Generation: gen}) {
		c.t.Error("the successor was welcomed while its predecessor is being read")
	}
	close(hold)
	c.progress(r, "the last", func() bool { return r.last(0) == 100 })
	if got := r.of(0); !rising(got) || len(got) != 100 || r.overlap.Load() {
		c.t.Errorf("%d frames, in order %v, overlap %v", len(got), rising(got), r.overlap.Load())
	}
}

func linkEvents(c *cluster) {
	a, b := c.pair(nil)
	b.Handle(ch, newRecorder())
	c.awaitUp(a, b, transport.Control)
	if s := a.Connected(b.Self(), transport.Bulk, 0); s != (transport.LinkState{}) {
		c.t.Errorf("bulk is %+v before its first frame", s)
	}
	c.must(a.Send(b.Self(), transport.Bulk, 0, ch, message(0, 0, 1, 0)))
	c.awaitUp(a, b, transport.Bulk)
	a.wire.Break()
	c.eventually("up again", func() bool { return len(a.events(transport.Bulk, 0)) >= 3 })
	c.awaitUp(a, b, transport.Bulk)
	a.RemovePeer(b.Self())
	c.eventually("gone", func() bool { return len(a.events(transport.Bulk, 0)) == 4 })
	gen := uint64(0)
	for i, e := range a.events(transport.Bulk, 0) {
		up := i%2 == 0
		if e.Up != up || e.Peer != b.Self() || up && e.Generation <= gen || !up && e.Generation != gen {
			c.t.Errorf("event %d: %v", i, e)
		}
		gen = e.Generation
		if wantErr := i == 1; (e.Err != nil) != wantErr {
			c.t.Errorf("event %d: %v; an error: %v", i, e, wantErr)
		}
	}
	c.eventually("none up", func() bool { return a.Stats().LinksUp == 0 })
}

func incarnation(c *cluster) {
	a := c.start(nil)
	network, bind := c.u.Site()
	old := c.startAt(network, bind, nil)
	addr := old.Addr()
	c.join(a, old)
	c.awaitUp(a, old, transport.Control)
	c.must(old.Close())
	next := c.startAt(network, addr, nil)
	r := newRecorder()
	next.Handle(ch, r)
	var refused transport.ErrRefused
	c.eventually("refused", func() bool {
		return errors.As(a.Send(old.Self(), transport.Control, 0, ch, message(0, 0, 1, 0)), &refused)
	})
	if refused.Reason != transport.RefusedIncarnation || refused.Text == "" {
		c.t.Errorf("got %v", refused)
	}
	mine := func(r transport.Refusal) bool {
		return r.Meant == old.Self() && r.Cause.Reason == transport.RefusedIncarnation && r.Addr == addr &&
			r.Peer == next.Self() && !r.Inbound
	}
	theirs := func(r transport.Refusal) bool {
		return r.Meant == old.Self() && r.Cause.Reason == transport.RefusedIncarnation && r.Addr == a.Addr() &&
			r.Peer == a.Self() && r.Inbound
	}
	c.eventually("both sides report", func() bool { return a.refused(mine) && next.refused(theirs) })
	c.must(a.AddPeer(next.Self(), addr))
	c.must(a.Send(next.Self(), transport.Control, 0, ch, message(0, 0, 2, 0)))
	c.progress(r, "the new one has it", func() bool { return r.count() > 0 })
	if got := fmt.Sprint(r.of(0)); got != "[2]" {
		c.t.Errorf("the new incarnation got %v, want [2]", got)
	}
}

func otherCluster(c *cluster) {
	refuses(c, transport.RefusedCluster, nil, func(cfg *transport.Config) { cfg.Cluster = "other" })
}

// otherFormats: nodes without a format level in common refuse each other, and both sides name both
// ranges; one level in common is enough.
func otherFormats(c *cluster) {
	speaks := func(low, high format.Level) func(*transport.Config) {
		return func(cfg *transport.Config) { cfg.Formats = format.Range{Min: low, Max: high} }
	}
	a, b := c.start(speaks(1, 2)), c.start(speaks(2, 3))
	r := newRecorder()
	b.Handle(ch, r)
	c.join(a, b)
	c.must(a.Send(b.Self(), transport.Control, 0, ch, message(0, 0, 1, 0)))
	c.progress(r, "one level is enough", func() bool { return r.count() == 1 })
	for _, by := range [][2]func(*transport.Config){{speaks(1, 2), speaks(3, 5)}, {speaks(3, 5), speaks(1, 2)}} {
		for _, text := range refuses(c, transport.RefusedVersion, by[0], by[1]) {
			if !strings.Contains(text, "levels 1 to 2") || !strings.Contains(text, "levels 3 to 5") {
				c.t.Errorf("told %q", text)
			}
		}
	}
}

// refuses starts two nodes of which the second refuses the first, and returns what the two report.
func refuses(c *cluster, why transport.Reason, first, second func(*transport.Config)) (told []string) {
	a, b := c.start(first), c.start(second)
	b.Handle(ch, newRecorder())
	c.must(a.AddPeer(b.Self(), b.Addr()))
	c.must(a.SendAddr(b.Addr(), ch, message(0, 0, 1, 0)))
	is := func(r transport.Refusal) bool {
		if r.Cause.Reason == why {
			told = append(told, r.Cause.Text)
		}
		return r.Cause.Reason == why
	}
	c.eventually("both sides report", func() bool { return a.refused(is) && b.refused(is) })
	var refused transport.ErrRefused
	c.eventually("the sender is told", func() bool {
		return errors.As(a.Send(b.Self(), transport.Control, 0, ch, nil), &refused)
	})
	if a.Stats().Dropped[transport.DropRefusedOut] == 0 || b.Stats().Dropped[transport.DropRefusedIn] == 0 ||
		b.Stats().FramesIn != 0 {
		c.t.Errorf("a: %v\nb: %v", a.Stats(), b.Stats())
	}
	return told
}
