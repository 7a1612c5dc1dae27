package sim

import (
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// keeps is a box's part in the limit on active entities.
type keeps struct {
	slot    passivation.Slot // of the shard's policy; 0: none
	used    bool             // this incarnation has handled a message
	leaving bool             // it was asked to stop because of the limit, and has not
}

// keep tells the policy of the shard, if it has one, that an entity is used, and passivates those
// for whom there is no place any more.
func (r *shardRun) keep(b *box) {
	if r.policy == nil {
		return
	}
	b.used = true
	switch {
	case b.leaving:
		return
	case b.slot != 0:
		r.policy.Touch(b.slot)
		return
	}
	slot, gone := r.policy.Add(xxhash.Sum64String(string(b.id)))
	for int(slot) >= len(r.slots) {
		r.slots = append(r.slots, nil)
	}
	r.slots[slot], b.slot = b, slot
	r.letGo(gone)
	r.checkKept()
}

// letGo asks entities to stop.
func (r *shardRun) letGo(slots []passivation.Slot) {
	for _, s := range slots {
		b := r.slots[s]
		b.slot, b.leaving, r.slots[s] = 0, true, nil
		r.passivate(b)
	}
}

func (r *shardRun) passivate(b *box) {
	if r.d.defects.overfull {
		return
	}
	r.d.p.w.counts.Evicted++
	r.d.p.post(func() { r.step(protocol.Passivate{ID: b.id, Cause: protocol.CauseLimit}) })
}

// unkeep says that an incarnation is over.
func (r *shardRun) unkeep(b *box) {
	if b.slot != 0 {
		r.policy.Remove(b.slot)
		r.slots[b.slot] = nil
	}
	b.keeps = keeps{}
}

// askAgain asks those to stop whom the machine has not heard of, because their shard was being
// handed off when they were asked.
func (r *shardRun) askAgain() {
	for _, b := range r.boxes {
		if b.leaving && b.active {
			r.passivate(b)
		}
	}
}

// reshare divides the limit over the hosted shards.
func (d *typeDriver) reshare() {
	if d.limit == 0 {
		return
	}
	share := max(1, d.limit/max(1, len(d.shards)))
	for s := range protocol.ShardID(d.cfg.Shards) {
		if r := d.shards[s]; r != nil && r.policy.Limit() != share {
			r.letGo(r.policy.SetLimit(share))
			r.checkKept()
		}
	}
}

// checkKept holds a shard to its part of the limit: so many entities that were used and have not
// been asked to stop.
func (r *shardRun) checkKept() {
	n := 0
	for _, b := range r.boxes {
		if b.active && b.used && !b.leaving {
			n++
		}
	}
	share := max(1, r.d.limit/max(1, len(r.d.shards)))
	if n > share && r.policy.Limit() == share { // else the limit is about to be divided anew
		r.d.p.w.violate("entities are held below the limit", "%v: shard %v of T%d keeps %d, and may keep %d",
			r.d.p, r.shard, r.d.index, n, share)
	}
}

// overfull is a shard of the healed world with more active entities than it may have, when there
// was time to stop them.
func (w *World) overfull() string {
	for _, p := range w.live {
		for _, d := range p.shard.types {
			for s := range protocol.ShardID(d.cfg.Shards) {
				if r := d.shards[s]; r != nil && r.policy != nil && r.entities() > r.policy.Limit() {
					return fmt.Sprintf("%v: shard %v of T%d has %d active entities, and may have %d",
						p, s, d.index, r.entities(), r.policy.Limit())
				}
			}
		}
	}
	return ""
}

// changeLimits is an operator that changes the limit on one node now and then.
func (l *shardLoad) changeLimits() {
	w := l.w
	p := l.someone(500*time.Millisecond, 10*time.Second, l.changeLimits)
	if p == nil {
		return
	}
	d := p.shard.types[l.rng.IntN(w.opt.EntityTypes)]
	limit := 1 + l.rng.IntN(w.opt.Shards*entitiesPerShard)
	if d.limit == 0 || p.behind {
		return
	}
	w.trace.line(p, "OPERATOR limits T%d to %d entities", d.index, limit)
	p.post(func() {
		d.limit = limit
		d.reshare()
	})
}
