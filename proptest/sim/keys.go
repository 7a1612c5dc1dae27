package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// keyStage adds to the durable keys of the processes that are started from a time on.
type keyStage struct {
	after   time.Duration
	pattern string
}

// drawKeys draws whether volatile keys become durable, first the sets and then all, as in rolling
// restarts that change the configuration.
func (o *Options) drawKeys(rs random.Streams) {
	r := rs.Stream("keys", 0)
	often := r.IntN(4) == 0
	switch {
	case o.Scenario == newKeys:
		o.applyKeys(r)
	case !often:
		return
	}
	first := random.Pick(r, 0, 15*time.Second, 30*time.Second)
	o.NewKeys = []keyStage{{first, "v/set/*"}, {first + random.Pick(r, 5*time.Second, 30*time.Second), "v/*"}}
}

// applyKeys bends the options to newKeys.
func (o *Options) applyKeys(r *rand.Rand) {
	o.Nodes, o.Spare, o.Safety, o.Shards = random.Pick(r, 2, 3, 3, 4), 1, 120*time.Second, 0
	o.Loss, o.Straggle, o.Calm = random.Pick(r, 0.05, 0.15), random.Pick(r, 0, 0.03), false
	o.WriteGap, o.Reads, o.Keys = random.Pick(r, 10*time.Millisecond, 50*time.Millisecond), 0.3, random.Pick(r, 1, 3)
	o.Weights, o.DiskFail, o.Timing = [faultKinds]int{}, 0, usualTiming
}

// durableKeys are the patterns of a process that is started now. Every third has an older
// configuration, without any.
func (w *World) durableKeys(uid uint64) (patterns []string) {
	if uid%3 == 0 {
		return nil
	}
	for _, s := range w.opt.NewKeys {
		if w.now >= int64(s.after) {
			patterns = append(patterns, s.pattern)
		}
	}
	return patterns
}

// stores reports whether what a replica acknowledges of a set alone has to last as long as the set.
// It need not while its view does not have the key as durable: it was left behind, and others have
// a view that does.
func (r *replicaHost) stores(b *history.Set) bool {
	return !b.Durable || r.m.SpaceOf(b.Key) == keyspace.Durable
}
