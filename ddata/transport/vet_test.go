package transport

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
)

// What a node does not take, and why.
func TestVet(t *testing.T) {
	m, err := Listen(t.Context(), Config{
		Cluster: "c", Self: 2, Bind: "127.0.0.1:0", FrameMax: 1 << 10, MessageMax: 1 << 12,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	fine := hello{
		Cluster: "c", From: 3, To: 2, Addr: "a:1", FrameMax: 1 << 10, MessageMax: 1 << 12, Formats: format.Build(),
	}
	for want, edit := range map[Reason]func(*hello){ // order: each is tried by itself
		0:                  func(*hello) {},
		RefusedCluster:     func(h *hello) { h.Cluster = "d" },
		RefusedSelf:        func(h *hello) { h.From = 2 },
		RefusedIncarnation: func(h *hello) { h.To = 9 },
		RefusedLimit:       func(h *hello) { h.FrameMax++ },
		RefusedHello:       func(h *hello) { h.Lane = lanes },
		// which may well have another lane
		RefusedVersion: func(h *hello) { h.Formats, h.Lane = format.Range{Min: 1000, Max: 1001}, lanes },
	} {
		h := fine
		edit(&h)
		err := m.local.vet(kindLink, h, false)
		if refused, _ := err.(ErrRefused); refused.Reason != want || (err == nil) != (want == 0) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// A connection of an earlier generation never takes the turn of a later one: its frames are older.
func TestGateKeepsTheOrderOfGenerations(t *testing.T) {
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := besiege(t, func(*Config) {})
	b.come(1, func(int) []byte { return nil })
	at := func(generation uint64) *turn {
		return newTurn(b.crowd[0], hello{Generation: generation})
	}
	key := gateKey{peer: 3}
	active, next := at(5), at(7)
	for _, x := range []struct {
		t     *turn
		taken bool
	}{{active, true}, {at(5), false}, {at(4), false}, {next, true}, {at(6), false}, {at(7), false}} {
		if err := m.in.gates.enter(key, x.t); (err == nil) != x.taken {
			t.Errorf("generation %d: %v", x.t.generation, err)
		}
	}
	m.in.gates.leave(key, active)
	select {
	case <-next.begin:
	case <-time.After(time.Second):
		t.Error("the successor's turn does not come")
	}
}

// One loud word a second.
func TestMaySpeak(t *testing.T) {
	var r reporter
	if !r.maySpeak() || r.maySpeak() {
		t.Error("not one word at a time")
	}
	if r.warned.Add(-int64(time.Second)); !r.maySpeak() {
		t.Error("silent after a second")
	}
}
