package protocol_test

import (
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// wild is a user's strategy without sense: it takes its time, names anybody, panics, and moves at
// random.
type wild struct{ w *world }

// Allocate implements allocation.Strategy.
func (x wild) Allocate(_ protocol.UID, _ protocol.ShardID, a *allocation.Allocations) (protocol.UID, bool) {
	switch {
	case x.w.chance(5):
		panic("wild")
	case x.w.chance(5):
		return protocol.UID(x.w.rng.IntN(20)), true
	case x.w.chance(5):
		return 0, false
	}
	return a.Regions[x.w.rng.IntN(len(a.Regions))].UID, true
}

// Rebalance implements allocation.Strategy.
func (x wild) Rebalance(a *allocation.Allocations, _ []protocol.ShardID) []protocol.ShardID {
	if x.w.chance(10) {
		panic("wild")
	}
	if x.w.chance(70) {
		return nil
	}
	return []protocol.ShardID{protocol.ShardID(x.w.rng.IntN(a.Shards + 1)), protocol.ShardID(x.w.rng.IntN(a.Shards))}
}

// thinking is how long a strategy takes to answer.
func (w *world) thinking() time.Duration {
	if !w.healed && w.chance(5) {
		return w.between(0, 3*time.Second)
	}
	return w.between(0, 50*time.Millisecond)
}

// measure has every region report loads, some shards ten times as busy as others, which shards
// changes with time.
func (w *world) measure() {
	busy := protocol.ShardID(w.now.Unix() / 2 % int64(w.opt.shards))
	for _, n := range w.live() {
		var ls []protocol.ShardLoad
		for s := range protocol.ShardID(w.opt.shards) {
			if n.shards[s] != nil {
				l := protocol.ShardLoad{Shard: s, Messages: 20, HandlerTime: time.Millisecond, Entities: 2}
				if s == busy {
					l.Messages, l.HandlerTime = 200, 10*time.Millisecond
				}
				ls = append(ls, l)
			}
		}
		n.post(protocol.Measured{Period: 150 * time.Millisecond, Shards: ls})
	}
	if !w.healed { // then there is rest
		w.after(150*time.Millisecond, w.measure)
	}
}

func addrOf(u protocol.UID) string { return u.String() + ":25520" }

// locate is an outside client that changes its mind.
func (w *world) locate() {
	l := protocol.Location{
		Shard: protocol.ShardID(w.rng.IntN(w.opt.shards)), Addr: addrOf(w.order[w.rng.IntN(len(w.order))]),
	}
	for _, n := range w.live() {
		n.stepCoordinator(protocol.LocationsChanged{Put: []protocol.Location{l}})
	}
	if !w.healed {
		w.after(200*time.Millisecond, w.locate)
	}
}

// TestSimStrategies: whatever the strategy, and however it misbehaves, all that the other
// simulations demand holds.
func TestSimStrategies(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 4, proxies: 1, shards: 10, entities: 24, lossy: true, strategies: true})
	simulate(t, simOptions{
		nodes: 5, proxies: 1, shards: 10, entities: 24, lossy: true, crashes: true, remember: true, strategies: true,
	})
}
