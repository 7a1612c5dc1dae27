package ddata

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/disk"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// bubbleNodes starts nodes with directories in a bubble: founders, and then one more that joins
// when join is called.
type bubbleNodes struct {
	t     *testing.T
	hub   *memory.Hub
	seeds []string
	lost  atomic.Int64 // leases
	held  atomic.Int64 // grants that no mark covered
	all   []*Node
}

func (b *bubbleNodes) config(addr string, expect int) Config {
	c := Config{
		Name: "test", Bind: addr, Seeds: b.seeds, BootstrapExpect: expect, Roles: []string{"backend"}, Preset: Local,
		Logger: slog.New(slog.DiscardHandler), Network: b.hub.At(addr), Dir: b.t.TempDir(),
	}
	c.OnEvent = func(e events.Event) {
		switch e := e.(type) {
		case events.LeaseLost:
			b.lost.Add(1)
		case events.MessageUnsent:
			if errors.Is(e.Err, disk.ErrUnmarked) {
				b.held.Add(1)
			}
		}
	}
	return c
}

func (b *bubbleNodes) start(configs ...Config) {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	nodes := make([]*Node, len(configs))
	var wg sync.WaitGroup
	for i, c := range configs {
		wg.Go(func() {
			n, err := Start(ctx, c)
			if err != nil {
				b.t.Error(err)
			}
			nodes[i] = n
		})
	}
	if wg.Wait(); b.t.Failed() {
		b.t.FailNow()
	}
	b.all = append(b.all, nodes...)
}

func inBubble(t *testing.T, fn func(t *testing.T, b *bubbleNodes)) {
	bubble.Test(t, func(t *testing.T) {
		b := &bubbleNodes{t: t, hub: memory.NewHub(), seeds: []string{memory.Addr(0), memory.Addr(1), memory.Addr(2)}}
		defer func() {
			for _, n := range b.all {
				if n != nil {
					n.Close()
				}
			}
		}()
		b.start(b.config(memory.Addr(0), 3), b.config(memory.Addr(1), 3), b.config(memory.Addr(2), 3))
		fn(t, b)
	})
}

// storeWith replaces what writes the node's record.
func (n *Node) storeWith(put func([]byte) error) {
	n.members.on(func() {
		n.members.records.Stop()
		n.members.records = disk.StartRecorder(put, n.members.post)
	})
}

// A disk that does not return costs the node no lease and the cluster no time. The node goes on
// with the view that it has stored, and knows the next one when that is stored.
func TestSlowDiskCostsNoLease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubbleNodes) {
		slow, before := b.all[0], b.all[0].View().Epoch
		written := make(chan struct{})
		slow.storeWith(func(r []byte) error { <-written; return slow.disk.PutRecord(r) })
		b.start(b.config(memory.Addr(3), 0))
		<-time.After(5 * time.Minute)
		if !slow.HoldsLease() || b.lost.Load() > 0 {
			t.Errorf("a disk that stands still cost %d leases; %v", b.lost.Load(), slow.Lease())
		}
		if got := slow.View().Epoch; got != before {
			t.Errorf("view %v is told, and %v is stored", got, before)
		}
		if why := slow.Health().Reasons; len(why) != 1 || slow.Health().Live {
			t.Errorf("its health: %v", why)
		}
		close(written)
		<-time.After(time.Second)
		if got, want := slow.View().Epoch, b.all[1].View().Epoch; got != want || !slow.Health().Live {
			t.Errorf("view %v is told when all is stored, want %v; health %v", got, want, slow.Health().Reasons)
		}
	})
}

// A node whose disk fails ends there and then: its membership says nothing more, whatever its tasks
// still do.
func TestFailedDiskEndsTheNode(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubbleNodes) {
		full, broken := errors.New("no space left on device"), b.all[0]
		broken.storeWith(func([]byte) error { return full })
		b.start(b.config(memory.Addr(3), 0))
		<-broken.Done()
		if err := broken.Err(); !errors.Is(err, ErrStore) || !errors.Is(err, full) {
			t.Errorf("ended with %v", err)
		}
		if broken.HoldsLease() {
			t.Error("it holds a lease")
		}
	})
}

// A disk that does not take the mark costs no lease: the node grants nothing more than the mark
// covers, and the others have enough grants without it, as it has by theirs.
func TestAMarkThatHangsCostsNoLease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubbleNodes) {
		slow := b.all[0]
		var hung atomic.Int64
		before := b.held.Load()
		written := make(chan struct{})
		slow.disk.BeforeMarks(func() { hung.Add(1); <-written })
		<-time.After(5 * time.Minute)
		if !slow.HoldsLease() || b.lost.Load() > 0 {
			t.Errorf("a disk that takes no mark cost %d leases; %v", b.lost.Load(), slow.Lease())
		}
		beats := int64(5*time.Minute/slow.cfg.membership().HeartbeatInterval) * int64(len(b.all)-1)
		if n := b.held.Load() - before; hung.Load() != 1 || n < beats*9/10 {
			t.Errorf("%d grants were held back for %d marks, of about %d", n, hung.Load(), beats)
		}
		close(written)
		<-time.After(time.Second)
		n := b.held.Load()
		<-time.After(time.Minute)
		if got := b.held.Load(); got != n {
			t.Errorf("%d grants are held back when the mark is written", got-n)
		}
	})
}
