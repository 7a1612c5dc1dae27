package protocol_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// handOffs is how many all coordinators have begun.
func (w *world) handOffs() (k uint64) {
	for _, u := range w.order {
		if c := w.nodes[u].coordinator; c != nil {
			k += counterOf(c.Stats(), "hand-offs")
		}
	}
	return k
}

// remembers are all remembered ids, by shard.
func (w *world) remembers() (ids []protocol.EntityID) {
	for s := range protocol.ShardID(w.opt.shards) {
		ids = append(ids, w.ids[s].all()...)
	}
	return ids
}

// close has the whole cluster shut down: after trouble, in the midst of rebalancing, a view is
// Closing; then all nodes leave within half a second. With traffic, senders go on while others have
// stopped.
func (w *world) close(traffic bool) {
	for end := w.now.Add(2 * time.Second); w.now.Before(end) && w.err == nil; {
		w.trouble()
		w.run(w.between(0, 30*time.Millisecond))
	}
	w.run(time.Second) // a node that has come is Up; dead ones are dropped
	if w.join(false); w.chance(50) {
		w.run(w.between(300*time.Millisecond, 700*time.Millisecond)) // what it gets moves just now
	}
	w.run(250 * time.Millisecond)
	w.lags = false
	w.change(func(v *view.View) { v.Closing = true })
	w.run(50 * time.Millisecond) // all have installed it
	before := w.handOffs()
	if !traffic {
		w.run(4 * time.Second) // hand-offs that had begun end; messages are handled
	}
	remembered, homes := w.remembers(), maps.Clone(w.table)
	for _, n := range w.live() {
		w.after(w.between(0, 500*time.Millisecond), func() { w.leave(n) })
	}
	for end := w.now.Add(8 * time.Second); w.now.Before(end) && w.err == nil; {
		if traffic {
			w.users()
		}
		w.occupySome()
		w.run(w.between(0, 30*time.Millisecond))
	}
	if w.err != nil {
		return
	}
	for _, n := range w.live() {
		w.fail("%v has not left: %v", n.uid, n.region)
	}
	if k := w.handOffs(); k != before {
		w.fail("%d hand-offs were begun although the cluster shuts down", k-before)
	}
	if len(w.lives) > 0 {
		w.fail("%v live on", slices.Collect(maps.Keys(w.lives))) // order: told only
	}
	for _, s := range slices.Sorted(maps.Keys(homes)) {
		if e := w.table[s]; !traffic && e.Home != homes[s].Home {
			w.fail("shard %v was at home at %v and went to %v", s, homes[s].Home, e.Home)
		}
	}
	if now := w.remembers(); !traffic && !slices.Equal(now, remembered) {
		w.fail("remembered before: %v, now %v", remembered, now)
	}
}

// TestSimClosing shuts the whole cluster down: nothing moves any more, all stop where they are and
// keep what is remembered, and all that live after a start of the whole cluster are those.
func TestSimClosing(t *testing.T) {
	t.Parallel()
	lives, handOffs := 0, uint64(0)
	for seed := range *simSeeds {
		opt := simOptions{
			nodes: 4, proxies: 1, shards: 12, entities: 40, remember: true, lossy: seed%3 > 0,
			crashes: seed%5 == 0, leases: seed%4 > 1,
		}
		w := newWorld(seed+1, opt)
		w.run(500 * time.Millisecond)
		w.close(seed%2 == 0)
		handOffs += w.handOffs()
		w.queue, w.table, w.regions, w.view = nil, map[protocol.ShardID]protocol.Entry{}, map[protocol.UID]bool{},
			&view.View{Epoch: w.view.Epoch}
		w.healed, w.store = true, newSimStore() // no outside holder keeps anything without end
		for range 3 {
			w.join(false)
		}
		w.run(3 * time.Second)
		if w.err == nil {
			w.demandRemembered()
			w.demandAgreement()
		}
		if w.err != nil {
			t.Fatalf("seed %d: %v", seed+1, w.err)
		}
		lives += len(w.lives)
	}
	t.Logf("%d hand-offs before, %d entities after", handOffs, lives)
	if lives == 0 || handOffs == 0 {
		t.Error("nothing was tested")
	}
}
