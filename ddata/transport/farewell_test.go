package transport

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// Flush waits as long for many silent connections as for one.
func TestFlushWaitsSideBySide(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		m := newMesh(Config{DataStripes: 4, Linger: time.Second}.WithDefaults(), "", nil)
		defer m.cancel()
		peers := map[NodeID]*peer{7: m.out.newPeer(7, "127.0.0.1:7"), 8: m.out.newPeer(8, "127.0.0.1:8")}
		m.out.peers.Store(&peers)
		for _, p := range peers {
			for _, l := range p.data {
				l.q.waiting.Frames = 1 // queued; its peer never answers
			}
		}
		began := time.Now()
		if err := m.Flush(t.Context()); !errors.Is(err, ErrUnreceived) {
			t.Error(err)
		}
		if took := time.Since(began); took != m.local.cfg.Linger {
			t.Errorf("it took %v, want %v", took, m.local.cfg.Linger)
		}
	})
}
