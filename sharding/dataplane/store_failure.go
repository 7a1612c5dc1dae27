package dataplane

import (
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// failure is what the shards that are hosted here say of where their ids are kept.
type storeFailure struct {
	mu  sync.Mutex
	why map[uint32]string
}

// Note follows the events of shards.
func (t *storeFailure) Note(e protocol.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Kind {
	case protocol.RememberFailed:
		if t.why == nil {
			t.why = map[uint32]string{}
		}
		t.why[uint32(e.Shard)] = e.Text
	case protocol.RememberResumed:
		delete(t.why, uint32(e.Shard))
	}
}

func (t *storeFailure) Forget(shard uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.why, shard)
}

// of is what the shard says; nil: nothing.
func (t *storeFailure) of(shard uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if why, ok := t.why[shard]; ok {
		return fmt.Errorf("%w: shard %d: %s", failure.ErrRemembering, shard, why)
	}
	return nil
}
