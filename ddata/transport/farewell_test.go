package transport

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// A receiver that says more of the end than it may loses its connection, and says nothing with it.
func TestWordsOfTheEnd(t *testing.T) {
	e := &ending{asked: make(chan struct{})}
	if e.isAsked() || !e.hear(endAsked) || !e.isAsked() {
		t.Error("a first wish to end is not taken")
	}
	if e.hear(endAsked) || e.known {
		t.Error("a second one is")
	}
	if e.hear(allReceived) || !e.known {
		t.Error("the last word is not taken")
	}
}

// Flush waits as long for many silent connections as for one.
func TestFlushWaitsSideBySide(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := &Mesh{cfg: Config{DataStripes: 4, Linger: time.Second}.withDefaults()}
		m.ctx, m.cancel = context.WithCancel(t.Context())
		defer m.cancel()
		peers := map[NodeID]*peer{7: m.newPeer(7, "127.0.0.1:7"), 8: m.newPeer(8, "127.0.0.1:8")}
		m.peers.Store(&peers)
		for _, p := range peers {
			for _, l := range p.data {
				l.frames = 1 // queued; its peer never answers
			}
		}
		began := time.Now()
		if err := m.Flush(t.Context()); !errors.Is(err, ErrUnreceived) {
			t.Error(err)
		}
		if took := time.Since(began); took != m.cfg.Linger {
			t.Errorf("it took %v, want %v", took, m.cfg.Linger)
		}
	})
}
