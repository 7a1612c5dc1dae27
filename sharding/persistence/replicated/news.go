package replicated

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// news collects the shards of a type that have changed in this replica, while a query is busy.
type news struct {
	store  *Store
	cancel context.CancelFunc
	ended  chan struct{} // closed when the watch has ended, after err is set
	err    error

	mu      sync.Mutex
	changed map[protocol.ShardID]crdt.Reader // the latest state
	wake    chan struct{}                    // of size 1: something has changed
}

// watch begins to collect.
func (s *Store) watch(ctx context.Context, typ string) *news {
	ctx, cancel := context.WithCancel(ctx)
	n := &news{
		store: s, cancel: cancel, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		changed: map[protocol.ShardID]crdt.Reader{},
	}
	prefix := typePrefix(typ)
	go func() {
		defer close(n.ended)
		n.err = errors.New("replicated: the changes of the store have ended")
		for c, err := range s.r.WatchPrefix(ctx, prefix) {
			if err != nil {
				n.err = err
				return
			}
			if shard, err := strconv.ParseUint(strings.TrimPrefix(c.Key, prefix), 10, 32); err == nil && !c.Ended {
				n.note(protocol.ShardID(shard), c.Value)
			}
		}
	}()
	return n
}

func (n *news) note(shard protocol.ShardID, r crdt.Reader) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed[shard] = r
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// end ends the collection, and waits for that.
func (n *news) end() {
	n.cancel()
	<-n.ended
}

// next waits for shards with another last transaction than known ones have.
func (n *news) next(ctx context.Context, known map[protocol.ShardID]view) ([]protocol.ShardID, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-n.ended:
			return nil, n.err
		case <-n.wake:
		}
		n.mu.Lock()
		changed := n.changed
		n.changed = map[protocol.ShardID]crdt.Reader{}
		n.mu.Unlock()
		var out []protocol.ShardID
		for _, shard := range slices.Sorted(maps.Keys(changed)) {
			top, err := topOf(changed[shard].At(pathHead))
			if err != nil {
				return nil, err
			}
			if top != known[shard].top {
				out = append(out, shard)
			}
		}
		if len(out) > 0 {
			return out, nil
		}
	}
}
