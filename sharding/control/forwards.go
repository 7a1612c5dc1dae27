package control

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// forwardsMax is how many entities are started elsewhere at a time.
const forwardsMax = 32

// forwards starts remembered entities whose ids belong to other shards now.
type forwards struct {
	asides    *asides
	scheduler scheduler.Scheduler
	timeout   time.Duration                                        // of one start
	start     func(ctx context.Context, id string) (uint64, error) // wherever the entity is
}

// run starts entities, and says which of them run.
func (f *forwards) run(ids []protocol.EntityID, done func([]protocol.EntityID)) {
	f.asides.run(func() {
		var mu sync.Mutex
		var started []protocol.EntityID
		all := scheduler.NewGroup(f.scheduler)
		next := make(chan protocol.EntityID, len(ids))
		for _, id := range ids {
			next <- id
		}
		close(next)
		for range min(forwardsMax, len(ids)) {
			all.Go(func() {
				for id := range next {
					ctx, cancel := f.scheduler.WithTimeout(f.asides.ctx, f.timeout)
					_, err := f.start(ctx, string(id))
					cancel()
					if err == nil {
						mu.Lock()
						started = append(started, id)
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		done(started)
	})
}
