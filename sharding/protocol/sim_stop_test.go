package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// stopShards asks for the end of shards.
func (n *simNode) stopShards(shards ...protocol.ShardID) { n.post(protocol.StopShards{Shards: shards}) }

// demandRest stops all shards for good while no messages are sent. They live nowhere, and stay so,
// also under the next coordinator, until messages come.
func (w *world) demandRest() {
	var all []protocol.ShardID
	for s := range protocol.ShardID(w.opt.shards) {
		all = append(all, s)
	}
	asks := w.live()[w.rng.IntN(len(w.live()))]
	before := maps.Clone(asks.rested)
	asks.stopShards(all...)
	w.run(8 * time.Second)
	for _, s := range all {
		if asks.rested[s] == before[s] {
			w.fail("%v does not hear that shard %v has stopped", asks.uid, s)
		}
	}
	w.demandNone("after they were stopped")
	hosts := slices.DeleteFunc(w.live(), func(n *simNode) bool { return n.proxy || n.leaving || n == asks })
	if len(hosts) > 1 {
		w.leave(hosts[0]) // mostly the coordinator's
	}
	w.run(4 * time.Second)
	w.demandNone("under the next coordinator")
	for _, n := range w.live() {
		for e := range w.opt.entities {
			if !n.leaving {
				n.tell(protocol.EntityID(fmt.Sprintf("e%d", e)))
			}
		}
	}
	w.run(6 * time.Second)
	w.demandDelivery()
	w.demandAgreement()
}

// demandNone: no shard has a home.
func (w *world) demandNone(when string) {
	for _, n := range w.live() {
		for _, s := range slices.Sorted(maps.Keys(n.shards)) {
			w.fail("%v hosts shard %v %s", n.uid, s, when)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(w.table)) {
		if e := w.table[s]; e.Home != 0 {
			w.fail("the home of shard %v is %v %s", s, e.Home, when)
		}
	}
	if len(w.lives) > 0 {
		w.fail("%d entities live %s", len(w.lives), when)
	}
}

// TestSimStopShards stops shards for good, amid hand-offs, traffic and crashes; then all of them,
// and sees that they stay stopped (A16).
func TestSimStopShards(t *testing.T) {
	t.Parallel()
	stopped := 0
	for seed := range *simSeeds {
		opt := simOptions{nodes: 4, proxies: 1, shards: 8, entities: 24, lossy: true, crashes: seed%2 == 0, stops: true}
		w, err := play(seed+1, opt, *simSeed == seed+1)
		for _, n := range w.nodes { // order: only counted
			for _, k := range n.rested { // order: only counted
				stopped += k
			}
		}
		if err == nil {
			w.demandRest()
		}
		if w.err != nil {
			t.Fatalf("seed %d: %v", seed+1, w.err)
		}
	}
	t.Logf("%d times a shard was stopped for good amid trouble", stopped)
	if stopped == 0 {
		t.Error("nothing was tested")
	}
}
