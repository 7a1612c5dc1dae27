package push

import "testing"

// A window that is full opens when what was in it is lost, and as far as it was.
func TestWhatIsLostMakesRoom(t *testing.T) {
	const flightMax, bytesMax = 4, 100
	w := NewWindow(0)
	w.Push(1, bytesMax)
	if w.Open(flightMax, bytesMax) || w.Flight() != 1 {
		t.Error("a full window is open")
	}
	if !w.Lost() || w.Lost() || !w.Rewind(1) || w.Sent() != 0 {
		t.Error("what is lost is not sent again")
	}
	if w.Push(1, 1); !w.Open(flightMax, bytesMax) {
		t.Error("what is lost takes room")
	}
	w.Push(2, 1)
	if !w.Arrived(2) || w.Flight() != 0 || w.bytes != 0 {
		t.Errorf("%d pushes of %d bytes are on their way after all have come", w.Flight(), w.bytes)
	}
}

// What is lost is sent again from where the peer stands, if that is kept. If it is not, a repair has
// to bring it, and a push that begins later would leave a hole.
func TestALossIsSentAgainIfAllOfItIsKept(t *testing.T) {
	w := NewWindow(0)
	for seq := range uint64(3) {
		w.Push(seq+1, 1)
	}
	w.SetApplied(1)
	if w.Lost(); w.Rewind(3) || w.Sent() != 3 {
		t.Errorf("it goes on behind event %d, of which the second is not kept", w.Sent())
	}
	if !w.Rewind(2) || w.Sent() != 1 {
		t.Errorf("it goes on behind event %d, want 1", w.Sent())
	}
}
