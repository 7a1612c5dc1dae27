package sharding

import (
	"iter"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// keeper is a shard's part of the limit on active entities: it is told when one is used, and says who has to go. Senders never come here: the
// worker tells it once per turn with an entity, however many messages that handles, because what counts is how often an entity would
// have to be started. Its lock is held for that alone.
type keeper struct {
	mu     sync.Mutex
	policy *passivation.Policy
	owners []*entity // by slot
}

// slotLeaving is the slot of an entity that the policy has given up: it was asked to stop, and is in no slot until it has.
const slotLeaving = ^passivation.Slot(0)

func newKeeper(s passivation.Strategy, limit int) *keeper {
	return &keeper{policy: passivation.New(s, limit)}
}

// used is an access to an entity, whose worker calls. It answers who has to go.
func (k *keeper) used(e *entity) []*entity {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e.slot {
	case slotLeaving:
		return nil
	case 0:
	default:
		k.policy.Touch(e.slot)
		return nil
	}
	slot, gone := k.policy.Add(xxhash.Sum64String(e.id))
	for int(slot) >= len(k.owners) {
		k.owners = append(k.owners, nil)
	}
	k.owners[slot], e.slot = e, slot
	return k.takeLocked(gone)
}

// takeLocked takes the entities out of their slots.
func (k *keeper) takeLocked(slots []passivation.Slot) []*entity {
	if len(slots) == 0 {
		return nil
	}
	gone := make([]*entity, len(slots))
	for i, s := range slots {
		gone[i] = k.owners[s]
		gone[i].slot, k.owners[s] = slotLeaving, nil
	}
	return gone
}

// ended says that the incarnation is over.
func (k *keeper) ended(e *entity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.slot != 0 && e.slot != slotLeaving {
		k.policy.Remove(e.slot)
		k.owners[e.slot] = nil
	}
	e.slot = 0
}

func (k *keeper) setLimit(n int) []*entity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.takeLocked(k.policy.SetLimit(n))
}

// isLeaving says that the entity was asked to stop because of the limit and has not.
func (k *keeper) isLeaving(e *entity) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return e.slot == slotLeaving
}

// keep tells the shard's keeper that the entity is used, and has those passivated for whom there is no place any more.
func (s *shard) keep(e *entity) {
	e.fresh = false
	s.release(s.keeper.used(e))
}

// limit is the shard's part of the limit on active entities; 0: there is none.
func (s *shard) limit() int {
	if s.keeper == nil {
		return 0
	}
	return int(s.region.share.Load())
}

func (s *shard) release(gone []*entity) {
	for _, e := range gone {
		s.region.passivate(s, e.id, protocol.CauseLimit)
	}
}

// leaving lists who was asked to stop because of the limit and has not. While the shard is handed off its machine does not do that, so when the hand-off is
// taken back they are asked again.
func (s *shard) leaving() (ids []protocol.EntityID) {
	if s.keeper == nil {
		return nil
	}
	for _, e := range s.snapshot() {
		if s.keeper.isLeaving(e) {
			ids = append(ids, protocol.EntityID(e.id))
		}
	}
	return ids
}

// reshare divides the region's limit over its n shards.
func (r *core) reshare(n int, shards iter.Seq[*shard]) {
	if !r.passivation.Limited() {
		return
	}
	share := max(1, r.activeLimit.Load()/int64(max(1, n)))
	if r.share.Swap(share) == share {
		return
	}
	for s := range shards {
		s.release(s.keeper.setLimit(int(share)))
	}
}
