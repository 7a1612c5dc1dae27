package replicator

import (
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Figures says what the machine holds. It costs as much as the clocks have origins, whatever the
// number of items is.
func (m *Machine) Figures() effect.Figures {
	f := effect.Figures{CaughtUp: m.CaughtUp(), Settled: m.Settled(), Pending: m.ops.Pending(), Counts: m.Stats()}
	for i, s := range m.spaces {
		f.Spaces[i] = m.figuresOf(keyspace.Space(i), s)
	}
	return f
}

func (m *Machine) figuresOf(id keyspace.Space, s *space) effect.SpaceFigures {
	snap := s.Store.Snapshot()
	single, _ := s.Store.Clock().Parted()
	f := effect.SpaceFigures{
		Keys: snap.KeyCount(), Items: s.Store.Len(), Bytes: snap.Size(), Digest: s.Store.Digest(),
		Events: single.Len(), LogEvents: s.Store.LogLen(), Waiting: s.pusher.Outbox().Bytes(),
	}
	for range s.Store.Clock().Rows(0) {
		f.Origins++
	}
	own := s.Store.Clock().Max(m.site.Cfg.Self)
	for _, p := range m.site.Peers {
		w := &p.Link(id).Window
		f.Peers = append(f.Peers, effect.Lag{Peer: p.ID, Behind: own - min(own, w.Counted()), Flight: w.Flight()})
	}
	return f
}
