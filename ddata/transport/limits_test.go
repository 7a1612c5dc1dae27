package transport

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/receipt"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// A node may be given any number of addresses to write to. Of more than addrLinksMax at a time
// nothing is kept: the frame is refused and counted, and those that are known go on.
func TestAddressesAreBounded(t *testing.T) {
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 1, Bind: "127.0.0.1:0", Network: deafNetwork{TCP(), nil}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	at := func(i int) string { return fmt.Sprintf("10.0.%d.%d:7", i/250, i%250+1) }
	for i := range addrLinksMax {
		if err := m.SendAddr(at(i), 9, []byte("x")); err != nil {
			t.Fatalf("address %d: %v", i, err)
		}
	}
	if err := m.SendAddr(at(addrLinksMax), 9, []byte("x")); !errors.Is(err, ErrQueueFull) {
		t.Errorf("one address more: %v", err)
	}
	if n := m.Stats().Dropped[DropQueueFullAddr]; n != 1 {
		t.Errorf("%d frames counted as dropped, want 1", n)
	}
	if err := m.SendAddr(at(0), 9, []byte("x")); err != nil {
		t.Errorf("an address that is known: %v", err)
	}
}

// Frames of a node that is no peer, or not yet, are counted, so that a connection that breaks while
// it joins loses nothing. At most gatesMax nodes are counted.
func TestCountsOfStrangersAreBounded(t *testing.T) {
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	conn, other := net.Pipe()
	defer conn.Close()
	defer other.Close()
	gates := &m.in.gates
	visit := func(id NodeID, written uint64, took int) (w answer) {
		t.Helper()
		turn := newTurn(conn, hello{Generation: 1, Written: written})
		key := gateKey{peer: id, lane: Data}
		if err := gates.enter(key, turn); err != nil {
			t.Fatal(err)
		}
		gates.countFrom(key, turn, conn, &w)
		turn.receipts.Took(took, 1)
		gates.leave(key, turn)
		return w
	}
	for id := range NodeID(gatesMax + 10) {
		visit(id+10, 0, 3)
	}
	gates.mu.Lock()
	n := len(gates.byKey)
	gates.mu.Unlock()
	if n != gatesMax {
		t.Errorf("%d counts are kept, want %d", n, gatesMax)
	}
	// Whose count is kept goes on from it. Whose count is not is told so, and that nothing of what
	// may have come before shall come again.
	if w := visit(10, 3, 0); w.Received != 3 || w.Fresh {
		t.Errorf("a count that is kept: %+v", w)
	}
	if w := visit(gatesMax+15, 5, 0); w.Received != 5 || !w.Fresh {
		t.Errorf("a count that was lost: %+v", w)
	}
}

// After a burst a link holds large buffers. When it was idle for writeBufferIdle they go.
func TestIdleLinkGivesItsBuffersUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := bare(4 << 20)
		defer m.cancel()
		q := newLink(&m.out.ports, 9, "10.0.0.1:7", Data, 0).q
		q.starter.begun = true
		const large = 128 << 10 // more than an idle link keeps
		s := &session{
			cfg: m.local.cfg, q: q, ctx: t.Context(), idle: time.NewTimer(time.Hour), ending: receipt.NewEnding(),
		}
		q.pen.held.Lock()
		burst := func(payload int) {
			t.Helper()
			if err := q.send(9, make([]byte, payload), 4<<20); err != nil {
				t.Fatal(err)
			}
			b, err := s.take()
			if err != nil || b.Frames != 1 {
				t.Fatal(b.Frames, err)
			}
			if !q.receipt(b.last) {
				t.Fatal("a receipt is refused")
			}
			q.recycle(b.Buf)
		}
		burst(large)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.take()
		}()
		held := func() int {
			q.mu.Lock()
			defer q.mu.Unlock()
			n := cap(q.waiting.Buf)
			if q.waiting.Spares.Large() {
				n += large
			}
			return n
		}
		<-time.After(writeBufferIdle - 1)
		if held() < large {
			t.Errorf("%d bytes are held within writeBufferIdle, want what the burst took", held())
		}
		<-time.After(2)
		synctest.Wait()
		if held() != 0 {
			t.Errorf("%d bytes are held after writeBufferIdle", held())
		}
		if err := q.send(9, []byte("x"), 4<<20); err != nil {
			t.Fatal(err)
		}
		<-done
	})
}

// A receiver that has lost its count knows from the hello that frames were written before: none of
// them comes twice.
func TestNothingComesTwiceWhenACountIsLost(t *testing.T) {
	up := make(chan struct{}, 10)
	listen := func(self NodeID) *Mesh {
		hear := onEvent(func(e LinkEvent) {
			if e.Lane == Data && e.Up {
				up <- struct{}{}
			}
		})
		m, err := Listen(t.Context(), Config{Cluster: "c", Self: self, Bind: "127.0.0.1:0", OnEvent: hear})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	from, to := listen(1), listen(2)
	came := make(chan string, 10)
	to.Handle(9, HandlerFunc(func(_ NodeID, payload []byte) {
		if came <- string(payload); string(payload) != "3" {
			return
		}
		// So many strangers that this one's count goes with its connection, which breaks before there is
		// a receipt.
		gates := &to.in.gates
		gates.mu.Lock()
		defer gates.mu.Unlock()
		for id := range NodeID(gatesMax + 1) {
			gates.byKey[gateKey{peer: id + 10}] = &gate{known: true}
		}
		conns := &to.in.conns
		conns.mu.Lock()
		defer conns.mu.Unlock()
		for conn := range conns.open {
			_ = conn.Close()
		}
	}))
	if err := from.AddPeer(2, to.Addr()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"1", "2", "3"} {
		if err := from.Send(2, Data, 0, 9, []byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"1", "2", "3"} {
		if got := <-came; got != want {
			t.Fatalf("%q came, want %q", got, want)
		}
	}
	<-up
	<-up // again: what follows is not written into the connection that broke
	if err := from.Send(2, Data, 0, 9, []byte("4")); err != nil {
		t.Fatal(err)
	}
	if got := <-came; got != "4" {
		t.Errorf("%q came again", got)
	}
}
