package sharding

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// passivator is a shard's part of the limit on active entities: it is told when one is used, and
// says which have to go. Senders never come here: the worker tells it once per turn with an entity,
// however many messages that handles, because what counts is how often an entity would have to be
// started. Its lock is held for that alone.
type passivator struct {
	mu     sync.Mutex
	policy *passivation.Policy
	owners []*entity // by slot
}

// slotLeaving is the slot of an entity that the policy has given up: it was asked to stop, and is
// in no slot until it has.
const slotLeaving = ^passivation.Slot(0)

func newPassivator(s passivation.Strategy, limit int) *passivator {
	return &passivator{policy: passivation.New(s, limit)}
}

// used notes an access to an entity, whose worker calls. It returns the entities that have to go.
func (k *passivator) used(e *entity) []*entity {
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
func (k *passivator) takeLocked(slots []passivation.Slot) []*entity {
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
func (k *passivator) ended(e *entity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.slot != 0 && e.slot != slotLeaving {
		k.policy.Remove(e.slot)
		k.owners[e.slot] = nil
	}
	e.slot = 0
}

func (k *passivator) setLimit(n int) []*entity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.takeLocked(k.policy.SetLimit(n))
}

// isLeaving reports whether the entity was asked to stop because of the limit and has not.
func (k *passivator) isLeaving(e *entity) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return e.slot == slotLeaving
}

// passivations is what a region knows of the passivation of its entities.
type passivations struct {
	strategy passivation.Strategy
	limit    atomic.Int64 // of the region, on active entities
	share    atomic.Int64 // of that, what each shard has
	byCause  [protocol.CauseEnd]atomic.Uint64
	forced   atomic.Uint64 // passivations that had to be forced
	latest   history
}

// start takes the strategy and its limit.
func (p *passivations) start(s passivation.Strategy) {
	p.strategy = s
	p.limit.Store(int64(s.ActiveEntityLimit))
	p.share.Store(int64(s.ActiveEntityLimit))
}

// keep tells the shard's passivator that the entity is used, and passivates the entities for which
// there is no place any more.
func (s *shard) keep(e *entity) {
	e.fresh = false
	s.release(s.passivator.used(e))
}

// limit is the shard's part of the limit on active entities; 0: there is none.
func (s *shard) limit() int {
	if s.passivator == nil {
		return 0
	}
	return int(s.region.passivations.share.Load())
}

func (s *shard) release(gone []*entity) {
	for _, e := range gone {
		s.region.passivate(s, e.id, protocol.CauseLimit)
	}
}

// leaving lists the entities that were asked to stop because of the limit and have not. While the
// shard is handed off its machine does not do that, so when the hand-off is taken back they are
// asked again.
func (s *shard) leaving() (ids []protocol.EntityID) {
	if s.passivator == nil {
		return nil
	}
	for _, e := range s.snapshot() {
		if s.passivator.isLeaving(e) {
			ids = append(ids, protocol.EntityID(e.id))
		}
	}
	return ids
}

// reshare divides the region's limit over its n shards.
func (p *passivations) reshare(n int, shards iter.Seq[*shard]) {
	if !p.strategy.Limited() {
		return
	}
	share := max(1, p.limit.Load()/int64(max(1, n)))
	if p.share.Swap(share) == share {
		return
	}
	for s := range shards {
		s.release(s.passivator.setLimit(int(share)))
	}
}

// prospect is what the policy of a shard says of one of its entities.
type prospect struct {
	limit, kept int                  // of the shard
	leaving     bool                 // the policy has given it up, and it has not stopped yet
	standing    passivation.Standing // zero if it is not in the policy
	next        string               // the entity that goes next; empty: none
	fresh       bool                 // what becomes active anew goes first
}

// explain says what the policy holds of an entity; e may be nil.
func (k *passivator) explain(e *entity) (p prospect) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.limit, p.kept = k.policy.Limit(), k.policy.Len()
	if e != nil {
		switch e.slot {
		case 0:
		case slotLeaving:
			p.leaving = true
		default:
			p.standing = k.policy.Standing(e.slot)
		}
	}
	next, fresh := k.policy.Next()
	if p.fresh = fresh; next != 0 {
		p.next = k.owners[next].id
	}
	return p
}
