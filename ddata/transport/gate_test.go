package transport

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// gated is a mesh that only reads, and one of its gates.
func gated() (*Mesh, gateKey) { return bare(1 << 20), gateKey{peer: 2, lane: Data} }

func pipeTurn(generation uint64) (t *turn, sender net.Conn) {
	sender, conn := net.Pipe()
	return newTurn(conn, hello{Generation: generation}), sender
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The connections of a link get their turn in the order of their generations. An older one never
// comes after a newer one. Among the waiting ones the newest gets the turn, and none before its
// predecessor has ended.
func TestTurnsAreInTheOrderOfGenerations(t *testing.T) {
	m, key := gated()
	enter := func(generation uint64) (*turn, error) {
		x, _ := pipeTurn(generation)
		return x, m.in.gates.enter(key, x)
	}
	refused := func(generation uint64) {
		t.Helper()
		_, err := enter(generation)
		if cause, ok := errors.AsType[ErrRefused](err); !ok || cause.Reason != RefusedGeneration {
			t.Errorf("generation %d: %v", generation, err)
		}
	}
	let := func(generation uint64) *turn {
		t.Helper()
		x, err := enter(generation)
		if err != nil {
			t.Fatalf("generation %d: %v", generation, err)
		}
		return x
	}
	two := let(2)
	if !closed(two.begin) {
		t.Fatal("the first waits")
	}
	refused(1)
	refused(2)
	if closed(two.drain) || two.draining.Load() {
		t.Error("a refused connection makes the first end")
	}
	four := let(4)
	if closed(four.begin) || !closed(two.drain) || !two.draining.Load() {
		t.Error("the second does not wait until the first has ended, or the first does not know")
	}
	refused(3)
	refused(4)
	six := let(6)
	if !closed(four.obsolete) || closed(six.begin) {
		t.Error("of two that wait the older one has to go")
	}
	m.in.gates.leave(key, four)
	if closed(six.begin) {
		t.Error("the connection that had to go was taken for the first")
	}
	m.in.gates.leave(key, two)
	if !closed(six.begin) || closed(six.obsolete) {
		t.Error("the second does not get its turn")
	}
	if m.in.gates.leave(key, six); len(m.in.gates.byKey) > 0 {
		t.Error("a gate without connections stays")
	}
}

// A connection whose successor waits may go on as long as something comes within each DrainTimeout,
// and ends when nothing does.
func TestPredecessorIsDrained(t *testing.T) {
	for _, frames := range []int{0, 5} { // that come when its successor waits
		testDrain(t, frames)
	}
}

func testDrain(t *testing.T, frames int) {
	bubble.Test(t, func(t *testing.T) {
		m, key := gated()
		defer m.cancel()
		ch := ChannelOf("test")
		var got atomic.Int64
		m.Handle(ch, HandlerFunc(func(NodeID, []byte) { got.Add(1) }))
		first, sender := pipeTurn(1)
		if err := m.in.gates.enter(key, first); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- m.in.reader.read(first.conn, 2, first) }()
		frame := appendFrame(nil, ch, []byte("x"))
		send := func() {
			if _, err := sender.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		send()
		<-time.After(time.Hour) // alone, it may be silent for long
		second, _ := pipeTurn(2)
		if err := m.in.gates.enter(key, second); err != nil {
			t.Fatal(err)
		}
		for range frames {
			<-time.After(m.local.cfg.DrainTimeout * 9 / 10)
			send()
		}
		began := time.Now()
		if err := <-ended; !errors.Is(err, errCutOff) || time.Since(began) != m.local.cfg.DrainTimeout {
			t.Errorf("it ended after %v with %v", time.Since(began), err)
		}
		if got.Load() != int64(1+frames) || m.Stats().Dropped[DropDrain] != 1 {
			t.Errorf("%d frames came, %v", got.Load(), m.Stats().Dropped)
		}
	})
}
