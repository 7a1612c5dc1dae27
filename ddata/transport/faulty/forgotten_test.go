package faulty_test

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
	"github.com/coterie-go/coterie/ddata/transport/memory"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// tally says what became of numbered frames. It is the handler at both ends.
type tally struct {
	mu       sync.Mutex
	received []uint64
	lost     map[uint64]int
}

// Receive implements transport.Handler.
func (t *tally) Receive(_ transport.NodeID, p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.received = append(t.received, binary.LittleEndian.Uint64(p))
}

// Lost implements transport.LossHandler.
func (t *tally) Lost(_ transport.NodeID, p []byte, _ bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost[binary.LittleEndian.Uint64(p)]++
}

// uncounted returns the frames up to last that were neither received nor lost, and what else is
// wrong.
func (t *tally) uncounted(last uint64) (missing []uint64, twice bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	come := map[uint64]bool{}
	for i, n := range t.received {
		twice = twice || i > 0 && n <= t.received[i-1]
		come[n] = true
	}
	for n := uint64(1); n <= last; n++ {
		if !come[n] && t.lost[n] == 0 {
			missing = append(missing, n)
		}
		twice = twice || t.lost[n] > 1
	}
	return missing, twice
}

// The receiver forgets its counts now and then, because it removes the sender; connections break,
// and with them welcomes and receipts. Every frame is received or told to be lost, none twice, all
// in order.
func TestForgottenCountsLoseNothingUncounted(t *testing.T) {
	lost := 0
	for seed := range uint64(80) {
		bubble.Test(t, func(t *testing.T) { lost += forget(t, seed) })
	}
	if lost == 0 {
		t.Error("no count was forgotten while frames were on their way")
	}
}

func forget(t *testing.T, seed uint64) (lost int) {
	w := wires(t, seed, faulty.Weather{})
	hub := memory.NewHub()
	start := func(id transport.NodeID, addr string) *transport.Mesh {
		m, err := transport.Listen(t.Context(), transport.Config{
			Cluster: "c", Self: id, Bind: addr, Network: w.At(addr, hub.At(addr)), BackoffMin: time.Millisecond,
			BackoffMax: 2 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	a, b := start(1, addrA), start(2, addrB)
	got := &tally{lost: map[uint64]int{}}
	a.Handle(1, got)
	b.Handle(1, got)
	if err := a.AddPeer(b.Self(), addrB); err != nil {
		t.Fatal(err)
	}
	w.Set(addrA, addrB, faulty.Weather{BreakEvery: 5, Delay: time.Millisecond})
	w.Set(addrB, addrA, faulty.Weather{BreakEvery: 2, Delay: time.Millisecond})
	const last = 400
	for n := uint64(1); n <= last; n++ {
		if err := a.Send(b.Self(), transport.Data, 0, 1, binary.LittleEndian.AppendUint64(nil, n)); err != nil {
			t.Fatal(err)
		}
		<-time.After(500 * time.Microsecond)
		if n%3 == seed%3 {
			if err := b.AddPeer(a.Self(), addrA); err != nil {
				t.Fatal(err)
			}
			b.RemovePeer(a.Self())
		}
	}
	w.HealAll()
	<-time.After(time.Minute)
	if missing, twice := got.uncounted(last); len(missing) > 0 || twice {
		t.Errorf("seed %d: %d frames were lost without a word: %v; twice or out of order: %v",
			seed, len(missing), missing, twice)
	}
	if n := a.Stats().Dropped[transport.DropConnLost]; n != uint64(len(got.lost)) {
		t.Errorf("seed %d: %d frames were told lost, %d counted", seed, len(got.lost), n)
	}
	return len(got.lost)
}
