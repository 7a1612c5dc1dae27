package mailbox

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// Senders and workers that meet at the bounds never pass them, and leave nothing behind.
func TestHeldBytesUnderContention(t *testing.T) {
	node := NewNodeBytes(3 * NodeStep)
	regions := []*HeldBytes{
		NewHeldBytes(2*NodeStep, node), NewHeldBytes(2*NodeStep, node),
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			h, rng := regions[i%2], rand.New(rand.NewPCG(uint64(i), 1))
			var mine []int64
			for range 20_000 {
				if n := rng.Int64N(NodeStep / 4); h.Take(n) == Accepted {
					mine = append(mine, n)
				}
				// those that are about to be refused count for a moment
				if used := node.Used(); used > 3*NodeStep+8*NodeStep {
					t.Errorf("%d bytes are taken", used)
				}
				for len(mine) > rng.IntN(8) {
					h.Release(mine[0])
					mine = mine[1:]
				}
			}
			for _, n := range mine {
				h.Release(n)
			}
		})
	}
	wg.Wait()
	for _, h := range regions {
		if h.Used() != 0 || h.Take(NodeStep) != Accepted {
			t.Errorf("%d bytes are left, or no room is", h.Used())
		}
		h.Release(NodeStep)
		h.End()
		if v := h.Take(NodeStep); v != Accepted { // of a reader that has met the end
			t.Errorf("verdict %d after the end", v)
		}
		h.Release(NodeStep)
	}
	if n := node.Used(); n != 0 {
		t.Errorf("%d bytes of the node are left", n)
	}
}

// A region, and a mailbox, that holds nothing takes a message of any size. What has no room says
// where.
func TestOneMessageOfAnySize(t *testing.T) {
	h := NewHeldBytes(100, nil)
	if h.Take(1000) != Accepted || h.Take(1) != HeavyRegion || h.Used() != 1000 {
		t.Errorf("%d bytes are taken", h.Used())
	}
	h.Release(1000)
	if h.Take(60) != Accepted || h.Take(60) != HeavyRegion || h.Used() != 60 {
		t.Errorf("%d bytes are taken", h.Used())
	}
	if v := NewHeldBytes(100, NewNodeBytes(NodeStep-1)).Take(1); v != HeavyNode {
		t.Errorf("verdict %d with a full node", v)
	}
	var m Mailbox
	if !m.Reserve(1000, 100) || m.Reserve(1, 100) {
		t.Error("a mailbox takes another number than one of any size")
	}
	m.Free(1000)
	if !m.Reserve(60, 100) || m.Reserve(60, 100) {
		t.Error("a mailbox takes another number than those that have room")
	}
}

// A drain ends when the last mailbox rests, and once.
func TestDrainWaitsForAll(t *testing.T) {
	ended := 0
	d := NewDrain(func() { ended++ })
	var idle, busy Mailbox
	var turn Turn
	busy.Push(Envelope{Msg: 1}, 0, 10)
	busy.Refill(&turn, 10)
	d.Seal(&idle)
	d.Seal(&busy)
	if d.Settled(); ended != 0 {
		t.Fatal("it has ended while a handler runs")
	}
	if v, _ := busy.Push(Envelope{Msg: 2}, 0, 10); v != Refused {
		t.Errorf("verdict %d of a sealed mailbox", v)
	}
	turn.Next()
	_, rested := busy.Refill(&turn, 10)
	if rested.Settled(); ended != 1 {
		t.Errorf("it has ended %d times", ended)
	}
}

// What a mailbox held is handed out in order when it shuts, by its worker if it has one.
func TestShutHandsOut(t *testing.T) {
	var m Mailbox
	var turn Turn
	var got []any
	out := func(e Envelope, size uint32) { got = append(got, e.Msg, size) }
	m.Push(Envelope{Msg: "a"}, 1, 10)
	m.Push(Envelope{Msg: "b"}, 2, 10)
	m.Refill(&turn, 10)
	turn.Next()
	if m.Shut(out); len(got) > 0 || m.State().IsClosed() {
		t.Fatalf("%v was taken from its worker", got)
	}
	m.Hold(ForLease)
	if m.Shut(out); len(got) != 2 || got[0] != "b" || got[1] != uint32(2) || !m.State().IsClosed() {
		t.Errorf("%v handed out", got)
	}
	if v, _ := m.Push(Envelope{}, 0, 10); v != Gone {
		t.Errorf("verdict %d of a closed mailbox", v)
	}
}
