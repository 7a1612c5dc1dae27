package push

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

func group(origin crdt.Origin, seq uint64) Cargo {
	return GroupCargo(1, 0, crdt.Group{{Dot: crdt.Dot{Origin: origin, Seq: seq}}})
}

func large(b []byte) *Large {
	return NewLarge(len(b), 1, func(dst []byte) []byte { return append(dst, b...) })
}

// Clocks wait before groups, and behind what has begun. Each has room of its own, and a later state
// takes the place of an earlier one.
func TestClocksGoBeforeGroupsThatWait(t *testing.T) {
	var f Flows
	for i := range uint64(FlowsMax) {
		if c := group(1, i+1); f.PlaceFor(c, 10, 1000) != FreePlace || f.Put(c, large(make([]byte, 10))) != (i == 0) {
			t.Fatalf("no place for group %d", i)
		}
	}
	if f.PlaceFor(group(1, 99), 10, 1000) != NoPlace || f.PlaceFor(group(1, 3), 10, 1000) != OnItsWay {
		t.Fatal("groups have no bound")
	}
	clock := Cargo{Kind: 2, State: true}
	if f.PlaceFor(clock, 10, 1000) != FreePlace || f.Put(clock, large(nil)) || f.out[1].Cargo != clock {
		t.Fatal("the clock does not go next")
	}
	if f.PlaceFor(clock, 10, 1000) != Outdated {
		t.Fatal("a later clock is worth more")
	}
	var parts []Part
	f.Pump(4, 8, func(p Part) { parts = append(parts, p) })
	if len(parts) != 3 || parts[2].Total != 3 || len(parts[2].Data) != 2 {
		t.Fatalf("%v", parts)
	}
	if f.Arm(time.Unix(1, 0)); f.Check() != nil {
		t.Fatal(f.Check())
	}
}

// Parts that are lost or come twice do no harm, and a message whose sender falls silent is given
// up, as if it had come.
func TestAssembly(t *testing.T) {
	var f Flows
	var a Assembly
	want := []byte("0123456789")
	f.Put(group(1, 1), large(want))
	at, n := time.Unix(1, 0), 0
	for {
		var whole []byte
		f.Pump(3, 8, func(p Part) {
			if n++; n%3 == 0 {
				return // lost
			}
			if w, arrival, err := a.Add(p, 100, at); err != nil {
				t.Fatal(err)
			} else if arrival == Complete {
				whole = slices.Concat(w...)
			}
		})
		if whole != nil {
			if !bytes.Equal(whole, want) || a.Bytes() > 0 || !a.DropAt().IsZero() {
				t.Fatalf("%q", whole)
			}
			if a.Decoded(2) || !a.Decoded(1) || a.Decoded(1) {
				t.Fatal("it is not decoded once")
			}
			break
		}
		id, next := a.Next()
		f.Acked(id, next, 3)
		if f.Retry() {
			t.Fatal("it does not get on")
		}
	}
	if _, arrival, _ := a.Add(Part{Flow: 2, Total: 2, Data: want}, 100, at); arrival != Kept || a.Bytes() == 0 {
		t.Fatal("the next message does not begin")
	}
	if a.GiveUp(); a.Bytes() > 0 || a.Check() != nil {
		t.Fatal("it is kept")
	}
	if _, next := a.Next(); next != 2 {
		t.Fatalf("the sender is told %d of 2", next)
	}
	if _, _, err := a.Add(Part{Flow: 3, Total: 2, Data: want}, 5, at); err == nil {
		t.Fatal("a message has no bound")
	}
}

// A retry that brings something begins a new count: a message is given up after retries in a row
// that were in vain, and the window is whole again.
func TestProgressEndsTheVainRetries(t *testing.T) {
	var f Flows
	f.Put(group(1, 1), large(make([]byte, 3*flowTries)))
	parts := 0
	pump := func(window int) int {
		parts = 0
		f.Pump(1, window, func(Part) { parts++ })
		return parts
	}
	pump(1)
	for next := uint32(1); next < 2*flowTries; next++ {
		if f.Retry() || pump(4) != 1 {
			t.Fatalf("retry %d: given up, or %d parts ask whether the peer is there", next, parts)
		}
		if moved, whole := f.Acked(1, next, 1); !moved || whole || f.Tries() != 0 {
			t.Fatalf("ack %d: moved %v, whole %v, %d tries", next, moved, whole, f.Tries())
		}
	}
	for range flowTries {
		if f.Retry() {
			t.Fatal("given up too early")
		}
	}
	if !f.Retry() {
		t.Error("it is tried without end")
	}
}

// An ack of more than there is says nothing.
func TestAnAckBeyondTheEnd(t *testing.T) {
	var f Flows
	f.Put(group(1, 1), large(make([]byte, 3)))
	var id uint64
	f.Pump(1, 4, func(p Part) { id = p.Flow })
	if moved, whole := f.Acked(id, 4, 1); moved || whole || f.Moved() != 0 {
		t.Errorf("part 4 of 3 has come: moved %v, whole %v", moved, whole)
	}
	if moved, whole := f.Acked(id, 3, 1); !moved || !whole {
		t.Errorf("all have come: moved %v, whole %v", moved, whole)
	}
}

// A message that comes slowly is given up when a part stays away, however long it takes as a whole.
func TestEachPartMovesTheTimeOut(t *testing.T) {
	var a Assembly
	at := time.Unix(1000, 0)
	for i := range uint32(3) {
		at = at.Add(time.Second)
		if _, arrival, err := a.Add(Part{Flow: 1, Index: i, Total: 4, Data: []byte{1}}, 100, at); arrival != Kept ||
			err != nil || a.DropAt() != at {
			t.Fatalf("part %d: %v, %v, given up at %v", i, arrival, err, a.DropAt())
		}
	}
	at = at.Add(time.Second)
	if a.Add(Part{Flow: 1, Index: 1, Total: 4, Data: []byte{1}}, 100, at); a.DropAt() == at {
		t.Error("a part that comes again keeps the message")
	}
}

// Small parts share memory, large ones are kept as they are; the memory of others is not written to.
func TestPiecesOfAMessage(t *testing.T) {
	var a Assembly
	var want []byte
	var pieces [][]byte
	sizes := []int{1, 1, pieceMin - 2, 1, pieceMin, 2 * pieceMin, 1}
	for i, n := range sizes {
		data := append(bytes.Repeat([]byte{byte(i)}, n), "others' memory"...)
		p := Part{Flow: 1, Index: uint32(i), Total: uint32(len(sizes)), Data: data[:n]}
		want = append(want, p.Data...)
		var err error
		if pieces, _, err = a.Add(p, 1<<20, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(data, []byte("others' memory")) {
			t.Fatalf("part %d: what stands behind it was written to", i)
		}
	}
	if !bytes.Equal(slices.Concat(pieces...), want) || len(pieces) != 5 {
		t.Errorf("%d pieces of %d parts", len(pieces), len(sizes))
	}
}
