package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// outside is a strategy that is not of package allocation, as users write them: it is asked beside
// the coordinator, takes its time, and, until the world heals, names what does not exist, and
// panics.
type outside struct {
	allocation.Strategy
	w   *World
	rng *rand.Rand
}

// Needs implements allocation.Needy.
func (o outside) Needs() allocation.Needs { return allocation.NeedsOf(o.Strategy) }

func (o outside) wild() bool { return !o.w.healed && o.rng.IntN(20) == 0 }

// Allocate implements allocation.Strategy.
func (o outside) Allocate(requester protocol.UID, s protocol.ShardID, a *allocation.Allocations) (protocol.UID, bool) {
	if o.wild() {
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
func (w *World) allocator() allocation.Strategy {
	s := w.opt.Allocation
	if w.opt.planted().greedy {
		s = greedy{s}
	}
	if s != nil && w.opt.Consulted {
		s = outside{s, w, w.rs.stream("strategy", w.nextStrategy())}
	}
	return s
}

func (w *World) nextStrategy() uint64 {
	w.strategies++
	return w.strategies
}

// consult has a strategy asked that is not of package allocation. Now and then it takes longer than
// the coordinator waits.
func (d *typeDriver) consult(q *allocation.Consultation) {
	r := d.p.rng
	thinks := between(r, 0, int64(20*time.Millisecond))
	if !d.p.w.healed && r.IntN(20) == 0 {
		thinks = between(r, 0, int64(8*time.Second))
	}
	d.p.w.counts.Consulted++
	me := d.coord
	d.p.w.after(time.Duration(thinks), d.p, func() {
		if advice := q.Ask(d.cfg.Allocation.Strategy); d.coord == me {
			d.stepCoord(protocol.Advised{Advice: advice})
		}
	})
}

// measure tells the Region, twice for each look at the balance, what the hosted shards have done.
// One that came meanwhile is told of the next time.
func (d *typeDriver) measure() {
	every := d.cfg.Rebalance.Interval / 2
	in := protocol.Measured{Period: every}
	for s := range protocol.ShardID(d.cfg.Shards) {
		r := d.shards[s]
		if r == nil {
			continue
		}
		if r.whole {
			in.Shards = append(in.Shards, protocol.ShardLoad{
				Shard: s, Messages: r.messages, HandlerTime: r.busy, Entities: uint32(r.entities()),
			})
		}
		r.whole, r.messages, r.busy = true, 0, 0
	}
	d.stepRegion(in)
	d.p.w.after(every, d.p, d.measure)
}

// entities counts those that are active.
func (r *shardRun) entities() (n int) {
	for _, b := range r.boxes {
		if b.active {
			n++
		}
	}
	return n
}

// locationsChanged tells the Coordinator what an outside client has changed since it was last told,
// or has read.
func (d *typeDriver) locationsChanged() {
	if d.wanted == nil || d.defects.unlocated {
		return
	}
	in := protocol.DiffLocations(d.located, *d.wanted)
	d.located = *d.wanted
	if len(in.Put)+len(in.Removed) > 0 {
		d.stepCoord(in)
	}
}

// readLocations does a read of the locations. What has changed meanwhile is newer than what is
// read.
func (d *typeDriver) readLocations(rd protocol.StateRead) {
	d.p.rep.call(func(id uint64) replicator.Input {
		return replicator.Get{ID: id, Key: rd.Key(d.cfg.Name), Read: quorum.Majority}
	}, func(r effect.Result) {
		v, got := r.Reader, rd.Result(r.Reader, r.Err)
		d.p.post(func() {
			if got.Err == nil {
				d.located = v
			}
			if d.defects.unlocated {
				got.Locations = nil
			}
			d.stepCoord(got)
			if got.Err == nil {
				d.locationsChanged()
			}
		})
	})
}

// startStrategy follows what an outside client wants, and measures loads, as far as the strategy
// looks at it.
func (d *typeDriver) startStrategy() {
	needs := allocation.NeedsOf(d.cfg.Allocation.Strategy)
	if needs.Loads {
		d.p.w.after(d.cfg.Rebalance.Interval/2, d.p, d.measure)
	}
	if needs.Locations {
		key := protocol.StateKey(d.cfg.Name, protocol.StateLocations, 0)
		d.p.rep.subscribe(replicator.Subscribe{Key: key}, func(c effect.Change) {
			v := c.Reader
			d.p.post(func() {
				d.wanted = &v
				d.locationsChanged()
			})
		})
	}
}

// locate is the outside client: until the world heals it says, through any process, where some
// shards shall live, or takes back what it has said.
func (l *shardLoad) locate() {
	w := l.w
	p := l.someone(200*time.Millisecond, 6*time.Second, l.locate)
	if p == nil || p.behind || p.mem.view == nil {
		return
	}
	typ := l.rng.IntN(w.opt.EntityTypes)
	at := map[protocol.ShardID]string{}
	var shards []protocol.ShardID
	for range 1 + l.rng.IntN(4) {
		s := protocol.ShardID(l.rng.IntN(w.opt.Shards))
		if _, twice := at[s]; !twice {
			shards = append(shards, s)
		}
		if at[s] = w.slots[l.rng.IntN(len(w.slots))].addr(); l.rng.IntN(5) == 0 {
			at[s] = ""
		}
	}
	w.counts.Located++
	w.trace.line(p, "CLIENT wants shards of T%d at %v", typ, at)
	p.rep.call(func(id uint64) replicator.Input {
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
