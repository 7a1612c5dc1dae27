package transport

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What a link knows of the end of one connection, and of attempts that were refused, does not hold
// for the next connection.
func TestAConnectionBeginsAnew(t *testing.T) {
	cfg := Config{FrameMax: 1 << 10, MessageMax: 1 << 10, DataQueueMax: 1 << 16, DataKeepMax: 1 << 16}
	q := newQueue(&cfg, &counters{}, true, Data, func() {})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	gone := func() bool {
		gone, _ := q.awaitReceived(over, time.Minute)
		return gone
	}
	send := func() error { return q.send(1, []byte("x"), q.max) }
	q.becomeUp(1)
	if err := send(); err != nil || gone() {
		t.Fatalf("%v, or no receipt is awaited", err)
	}
	if q.becomeDeparted(); !gone() {
		t.Error("a receipt is awaited of a node that has ended its connections")
	}
	if q.becomeUp(2); gone() || q.state() != (LinkState{Up: true, Generation: 2}) {
		t.Errorf("no receipt is awaited on the next connection: %+v", q.state())
	}
	refused := errors.New("another cluster")
	if q.becomeRefused(refused); !errors.Is(send(), refused) || !gone() {
		t.Error("frames are taken for a node that refuses this one")
	}
	if q.becomeUp(3); send() != nil || gone() {
		t.Error("no frames are taken for a node that has accepted this one")
	}
}

// A link on which nothing happens for long ends, unless something was sent just then.
func TestAQueueWithFramesIsNotRetired(t *testing.T) {
	cfg := Config{FrameMax: 1 << 10, MessageMax: 1 << 10, DataQueueMax: 1 << 16, DataKeepMax: 1 << 16}
	q := newQueue(&cfg, &counters{}, true, Data, func() {})
	if err := q.send(1, []byte("x"), q.max); err != nil {
		t.Fatal(err)
	}
	if q.retire() || q.isClosed() {
		t.Fatal("it is retired while a frame waits")
	}
	if b, _, _ := q.takeOrPark(nil); b.Frames != 1 || !q.retire() {
		t.Errorf("%d frames were taken, or it is not retired after that", b.Frames)
	}
	if err := q.send(1, []byte("x"), q.max); !errors.Is(err, ErrNoPeer) {
		t.Errorf("a retired queue takes a frame: %v", err)
	}
}
