package control

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Stops are the StopShards that have not ended.
type Stops struct{ Waits []*StopWait }

// StopWait is one StopShards.
type StopWait struct {
	left map[protocol.ShardID]bool // that have not stopped
	Done chan struct{}             // closed when all have
}

// NewStopWait makes the wait for shards.
func NewStopWait(shards []protocol.ShardID) *StopWait {
	w := &StopWait{left: map[protocol.ShardID]bool{}, Done: make(chan struct{})}
	for _, s := range shards {
		w.left[s] = true
	}
	return w
}

// Add takes a wait.
func (s *Stops) Add(w *StopWait) { s.Waits = append(s.Waits, w) }

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

// Forget ends a wait.
func (s *Stops) Forget(w *StopWait) {
	s.Waits = slices.DeleteFunc(s.Waits, func(x *StopWait) bool { return x == w })
}
