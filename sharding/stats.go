package sharding

import "fmt"

// Stats is a snapshot of what a region counts.
type Stats struct {
	Entities int         // active, starting or stopping here
	Shards   int         // hosted here
	Buffered int         // messages that wait for a home
	Workers  int         // goroutines that run handlers or are ready to
	Queued   int         // entities with messages that wait for a worker
	Drops    []DropCount // by reason; those that never happened are left out
}

// DropCount is how many messages were lost for one reason.
type DropCount struct {
	Reason DropReason
	Count  uint64
}

func (d DropCount) String() string { return fmt.Sprintf("%v: %d", d.Reason, d.Count) }

// Stats counts. It looks at every hosted shard, so call it now and then.
func (g *Region[M]) Stats() Stats {
	r := g.core
	s := Stats{Buffered: int(r.limit.count.Load()), Queued: int(r.pool.queued.Load())}
	r.pool.mu.Lock()
	s.Workers = r.pool.workers
	r.pool.mu.Unlock()
	for _, h := range r.sweep.shards() {
		s.Shards++
		h.mu.RLock()
		s.Entities += len(h.entities)
		h.mu.RUnlock()
	}
	for reason := range r.drops.counts {
		if n := r.drops.counts[reason].Load(); n > 0 {
			s.Drops = append(s.Drops, DropCount{DropReason(reason), n})
		}
	}
	return s
}
