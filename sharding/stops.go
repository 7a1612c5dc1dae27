package sharding

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// stops are the StopShards that have not ended.
type stops struct{ waits []*stopWait }

// stopWait is one StopShards.
type stopWait struct {
	left map[protocol.ShardID]bool // that have not stopped
	done chan struct{}             // closed when all have
}

func newStopWait(shards []protocol.ShardID) *stopWait {
	w := &stopWait{left: map[protocol.ShardID]bool{}, done: make(chan struct{})}
	for _, s := range shards {
		w.left[s] = true
	}
	return w
}

func (s *stops) add(w *stopWait) { s.waits = append(s.waits, w) }

// atRest tells the callers that wait that shards have stopped for good.
func (s *stops) atRest(shards []protocol.ShardID) {
	kept := s.waits[:0]
	for _, w := range s.waits {
		for _, n := range shards {
			delete(w.left, n)
		}
		if len(w.left) > 0 {
			kept = append(kept, w)
		} else {
			close(w.done)
		}
	}
	clear(s.waits[len(kept):])
	s.waits = kept
}

func (s *stops) forget(w *stopWait) {
	s.waits = slices.DeleteFunc(s.waits, func(x *stopWait) bool { return x == w })
}
