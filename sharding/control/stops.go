package control

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Stops are the StopShards that have not ended.
type Stops struct{ Waits []*stopWait }

// stopWait is one StopShards.
type stopWait struct {
	left map[protocol.ShardID]bool // that have not stopped
	Done chan struct{}             // closed when all have
}

// newStopWait makes the wait for shards.
func newStopWait(shards []protocol.ShardID) *stopWait {
	w := &stopWait{left: map[protocol.ShardID]bool{}, Done: make(chan struct{})}
	for _, s := range shards {
		w.left[s] = true
	}
	return w
}

// add takes a wait.
func (s *Stops) add(w *stopWait) { s.Waits = append(s.Waits, w) }

// AtRest tells the callers that wait that shards have stopped for good.
func (s *Stops) AtRest(shards []protocol.ShardID) {
	kept := s.Waits[:0]
	for _, w := range s.Waits {
		for _, n := range shards {
			delete(w.left, n)
		}
		if len(w.left) > 0 {
			kept = append(kept, w)
		} else {
			close(w.Done)
		}
	}
	clear(s.Waits[len(kept):])
	s.Waits = kept
}

// forget ends a wait.
func (s *Stops) forget(w *stopWait) {
	s.Waits = slices.DeleteFunc(s.Waits, func(x *stopWait) bool { return x == w })
}
