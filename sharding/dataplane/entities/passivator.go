package entities

import (
	"iter"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// passivator is a shard's part of the limit on active entities: it is told when one is used, and
// says which have to go. Senders never come here: the worker tells it once per turn with an entity,
// however many messages that handles, because what counts is how often an entity would have to be
// started. Its lock is held for that alone.
type passivator struct {
	mu     sync.Mutex
	Policy *passivation.Policy
	owners []*Entity // by slot
}

// slotLeaving is the slot of an entity that the policy has given up: it was asked to stop, and is
// in no slot until it has.
const slotLeaving = ^passivation.Slot(0)

func newPassivator(s passivation.Strategy, limit int) *passivator {
	return &passivator{Policy: passivation.New(s, limit)}
}

// used notes an access to an entity, whose worker calls. It returns the entities that have to go.
func (k *passivator) used(e *Entity) []*Entity {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch e.Slot {
	case slotLeaving:
		return nil
	case 0:
	default:
		k.Policy.Touch(e.Slot)
		return nil
	}
	slot, gone := k.Policy.Add(xxhash.Sum64String(e.ID))
	for int(slot) >= len(k.owners) {
		k.owners = append(k.owners, nil)
	}
	k.owners[slot], e.Slot = e, slot
	return k.takeLocked(gone)
}

// takeLocked takes the entities out of their slots.
func (k *passivator) takeLocked(slots []passivation.Slot) []*Entity {
	if len(slots) == 0 {
		return nil
	}
	gone := make([]*Entity, len(slots))
	for i, s := range slots {
		gone[i] = k.owners[s]
		gone[i].Slot, k.owners[s] = slotLeaving, nil
	}
	return gone
}

// ended says that the incarnation is over.
func (k *passivator) ended(e *Entity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Slot != 0 && e.Slot != slotLeaving {
		k.Policy.Remove(e.Slot)
		k.owners[e.Slot] = nil
	}
	e.Slot = 0
}

func (k *passivator) setLimit(n int) []*Entity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.takeLocked(k.Policy.SetLimit(n))
}

// isLeaving reports whether the entity was asked to stop because of the limit and has not.
func (k *passivator) isLeaving(e *Entity) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return e.Slot == slotLeaving
}

// Passivations is what a region knows of the passivation of its entities.
type Passivations struct {
	Strategy passivation.Strategy
	Limit    atomic.Int64 // of the region, on active entities
	Share    atomic.Int64 // of that, what each shard has
	ByCause  [protocol.CauseEnd]atomic.Uint64
	Forced   atomic.Uint64 // passivations that had to be forced
	Latest   history
}

// start takes the strategy and its limit.
func (p *Passivations) start(s passivation.Strategy) {
	p.Strategy = s
	p.Limit.Store(int64(s.ActiveEntityLimit))
	p.Share.Store(int64(s.ActiveEntityLimit))
}

// keep tells the shard's passivator that the entity is used, and passivates the entities for which
// there is no place any more.
func (t *turn) keep(e *Entity) {
	t.fresh = false
	e.Shard.release(e.Shard.Passivator.used(e))
}

// Limit is the shard's part of the limit on active entities; 0: there is none.
func (s *Shard) Limit() int {
	if s.Passivator == nil {
		return 0
	}
	return int(s.runtime.Passivations.Share.Load())
}

// Passivate asks for the end of an entity's incarnation.
func (s *Shard) Passivate(id string, why protocol.Cause) {
	s.runtime.control.Passivate(s, id, why, runloop.Permit{})
}

func (s *Shard) release(gone []*Entity) {
	if s.runtime.set.Defects.Planted(defect.KeepsAll) {
		return
	}
	for _, e := range gone {
		s.Passivate(e.ID, protocol.CauseLimit)
	}
}

// Leaving lists the entities that were asked to stop because of the limit and have not. While the
// shard is handed off its machine does not do that, so when the hand-off is taken back they are
// asked again.
func (s *Shard) Leaving() (ids []protocol.EntityID) {
	if s.Passivator == nil {
		return nil
	}
	for _, e := range s.All() {
		if s.Passivator.isLeaving(e) {
			ids = append(ids, protocol.EntityID(e.ID))
		}
	}
	return ids
}

// Reshare divides the region's limit over its n shards.
func (p *Passivations) Reshare(n int, shards iter.Seq[*Shard]) {
	if !p.Strategy.Limited() {
		return
	}
	share := max(1, p.Limit.Load()/int64(max(1, n)))
	if p.Share.Swap(share) == share {
		return
	}
	for s := range shards {
		s.release(s.Passivator.setLimit(int(share)))
	}
}

// prospect is what the policy of a shard says of one of its entities.
type prospect struct {
	Limit, Kept int                  // of the shard
	Leaving     bool                 // the policy has given it up, and it has not stopped yet
	Standing    passivation.Standing // zero if it is not in the policy
	Next        string               // the entity that goes next; empty: none
	Fresh       bool                 // what becomes active anew goes first
}

// Explain says what the policy holds of an entity; e may be nil.
func (k *passivator) Explain(e *Entity) (p prospect) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.Limit, p.Kept = k.Policy.Limit(), k.Policy.Len()
	if e != nil {
		switch e.Slot {
		case 0:
		case slotLeaving:
			p.Leaving = true
		default:
			p.Standing = k.Policy.Standing(e.Slot)
		}
	}
	next, fresh := k.Policy.Next()
	if p.Fresh = fresh; next != 0 {
		p.Next = k.owners[next].ID
	}
	return p
}
