package sharding

import (
	"fmt"
	"testing"
	"time"
)

// threeNodes starts a type on three nodes, of which first is a region, and has ask find homes for
// its shards.
func threeNodes(t *testing.T, w *world, typ EntityType[message_],
	ask func(first *Region[message_])) (nodes []*fakeNode) {
	t.Helper()
	var first *Region[message_]
	for range 3 {
		n := w.join("backend")
		nodes = append(nodes, n)
		if g := start(n, typ); first == nil {
			first = g
		}
	}
	w.install()
	ask(first)
	<-time.After(3 * time.Second)
	return nodes
}

// askMany asks some entities of every shard.
func askMany(t *testing.T, g *Region[message_]) {
	t.Helper()
	for i := range 200 {
		if _, err := Ask(within(t, 20*time.Minute), g.Ref(fmt.Sprint("e", i)), total{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNewcomerIsNotReordered: a node joins and sends to the homes of entities. One of these gets
// the view with the newcomer three seconds later, and shards are balanced meanwhile. What one
// goroutine tells one entity stays in order.
func TestNewcomerIsNotReordered(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		rec := newRecorder()
		typ := rec.entityType()
		typ.Rebalance.Interval = time.Second
		ctx := within(t, 10*time.Minute)
		owner := threeNodes(t, w, typ, func(g *Region[message_]) { askAll(ctx, t, g) })[1]
		newcomer := w.join("backend")
		g := start(newcomer, typ)
		// so what it tells is under way for a while
		w.hub.Delay(newcomer.member.Addr, owner.member.Addr, 400*time.Millisecond)
		catchUp := w.installBut(owner)
		time.AfterFunc(3*time.Second, catchUp)
		end := time.Now().Add(8 * time.Second)
		for i := 1; time.Now().Before(end); i++ {
			for e := range 20 {
				if err := g.Tell(ctx, fmt.Sprint("e", e), numbered{Sender: 0, N: i}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(10 * time.Millisecond)
		}
		askAll(ctx, t, g)
		if f := rec.faults(); len(f) > 0 {
			t.Errorf("%d times out of order, for example %s", len(f), f[0])
		}
	})
}

// TestFenceBeforeItsView: the way from the coordinator to two owners is cut for two and a half
// seconds, while a node joins and shards are balanced. The newcomer's fence reaches an owner before
// the view with the newcomer. The hand-off goes on as soon as the cut is over.
func TestFenceBeforeItsView(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := newRecorder().entityType()
		typ.Rebalance.Interval, typ.Shards = time.Second, 60
		nodes := threeNodes(t, w, typ, func(g *Region[message_]) { askMany(t, g) })
		owners := nodes[1:]
		g := start(w.join("backend"), typ)
		for _, o := range owners { // neither the view nor Begin
			w.hub.Cut(nodes[0].member.Addr, o.member.Addr)
		}
		catchUp := w.installBut(owners...)
		<-time.After(2500 * time.Millisecond)
		catchUp()
		for _, o := range owners {
			w.hub.Heal(nodes[0].member.Addr, o.member.Addr)
		}
		worst := time.Duration(0)
		for healed := time.Now(); time.Since(healed) < 12*time.Second; {
			asked := time.Now()
			askMany(t, g)
			worst = max(worst, time.Since(asked))
			<-time.After(100 * time.Millisecond)
		}
		if worst > 10*time.Second {
			t.Errorf("after the cut entities did not answer for %v", worst)
		}
	})
}
