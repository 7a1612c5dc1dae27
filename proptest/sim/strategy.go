package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// outside is a strategy that is not of package allocation, as users write them. It is asked beside
// the coordinator and takes its time. Until the world heals it names what does not exist, and
// panics.
type outside struct {
	allocation.Strategy
	p   *Process
	rng *rand.Rand
}

// Needs implements allocation.Needy.
func (o outside) Needs() allocation.Needs { return allocation.NeedsOf(o.Strategy) }
func (o outside) wild() bool              { return !o.p.w.healed && o.rng.IntN(20) == 0 }

// think takes its time: now and then longer than the coordinator waits.
func (o outside) think() {
	thinks := random.Between(o.rng, 0, int64(20*time.Millisecond))
	if !o.p.w.healed && o.rng.IntN(20) == 0 {
		thinks = random.Between(o.rng, 0, int64(8*time.Second))
	}
	o.p.w.counts.Consulted++
	o.p.rt.Sleep(time.Duration(thinks))
}

// Allocate implements allocation.Strategy.
func (o outside) Allocate(requester protocol.UID, s protocol.ShardID, a *allocation.Allocations) (protocol.UID, bool) {
	if o.think(); o.wild() {
		switch o.rng.IntN(3) {
		case 0:
			panic("wild")
		case 1:
			return protocol.UID(o.rng.Uint64()), true
		}
		return 0, false
	}
	return o.Strategy.Allocate(requester, s, a)
}

// Rebalance implements allocation.Strategy.
func (o outside) Rebalance(a *allocation.Allocations, inProgress []protocol.ShardID) []protocol.ShardID {
	o.think()
	moves := o.Strategy.Rebalance(a, inProgress)
	if o.wild() {
		if o.rng.IntN(2) == 0 {
			panic("wild")
		}
		moves = append(moves, protocol.ShardID(a.Shards))
	}
	return moves
}

// greedy is a planted defect: it moves everything all the time.
type greedy struct{ allocation.Strategy }

// Rebalance implements allocation.Strategy.
func (greedy) Rebalance(a *allocation.Allocations, _ []protocol.ShardID) (all []protocol.ShardID) {
	for _, r := range a.Regions {
		all = append(all, a.ShardsOf(r.UID)...)
	}
	return all
}

// allocator is the strategy of a process's coordinator.
func (w *World) allocator(p *Process) allocation.Strategy {
	s := w.opt.Allocation
	if w.planted.Greedy {
		s = greedy{s}
	}
	if s != nil && w.opt.Consulted {
		s = outside{s, p, w.rs.Stream("strategy", w.nextStrategy())}
	}
	return s
}

func (w *World) nextStrategy() uint64 {
	w.strategies++
	return w.strategies
}

// locate is the outside client: until the world heals it says, through any process, where some
// shards shall live, or takes back what it has said.
func (l *shardLoad) locate() {
	w := l.w
	p := l.someone(200*time.Millisecond, 6*time.Second, l.locate)
	if p == nil || !p.usable() {
		return
	}
	typ := l.rng.IntN(w.opt.EntityTypes)
	r := p.reps.of(reserved(w.opt.RoleOfType(typ)))
	if r == nil {
		return
	}
	at := map[protocol.ShardID]string{}
	var shards []protocol.ShardID
	for range 1 + l.rng.IntN(4) {
		s := protocol.ShardID(l.rng.IntN(w.opt.Shards))
		if _, twice := at[s]; !twice {
			shards = append(shards, s)
		}
		if at[s] = w.slots[l.rng.IntN(len(w.slots))].addr; l.rng.IntN(5) == 0 {
			at[s] = ""
		}
	}
	w.counts.Located++
	w.trace.Line(p, "CLIENT wants shards of T%d at %v", typ, at)
	r.call(func(id uint64) replicator.Input {
		return replicator.Update{ID: id, Key: protocol.StateKey(typeName(typ), protocol.StateLocations, 0),
			Write: quorum.Majority, Mutate: func(tx *crdt.Tx) error {
				m := protocol.LocationsMap{}.Mutator(tx)
				for _, s := range shards {
					err := error(nil)
					if at[s] == "" {
						err = m.Remove(s)
					} else {
						err = m.Put(s, at[s])
					}
					if err != nil {
						return fmt.Errorf("location of shard %v: %w", s, err)
					}
				}
				return nil
			}}
	}, func(effect.Result) {})
}
