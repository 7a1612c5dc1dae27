package ddata_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

func TestJoinLeaveAndCrash(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	ctx := testContext(t)
	if err := ddata.Update(ctx, replica(t, nodes[0]), names, ddata.WriteMajority, add("early")); err != nil {
		t.Fatal(err)
	}
	late := startAll(t, config(freeAddrs(t, 1)[0], []string{nodes[1].Addr()}, 0))[0]
	if set, err := ddata.Get(ctx, replica(t, late), names, ddata.ReadLocal); err != nil || !set.Contains("early") {
		t.Fatalf("a node that is Up lacks data: %v %v", set, err)
	}
	if err := nodes[2].Leave(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(nodes[2].Err(), ddata.ErrLeft) {
		t.Fatalf("ended with %v", nodes[2].Err())
	}
	gone := func(uid view.UID) func(*view.View) bool {
		return func(v *view.View) bool { return !v.Has(uid) }
	}
	until(t, late, "leave", gone(nodes[2].UID()))
	_ = nodes[0].Close()
	until(t, late, "crash", gone(nodes[0].UID()))
	if set, err := ddata.Get(ctx, replica(t, late), names, ddata.ReadMajority); err != nil || !set.Contains("early") {
		t.Fatalf("an acknowledged write is lost: %v %v", set, err)
	}
}

func TestTwoMembersBecomeOneByLeaving(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	if err := nodes[0].Leave(testContext(t)); err != nil {
		t.Fatal(err)
	}
	until(t, nodes[1], "alone", func(v *view.View) bool { return len(v.Members) == 1 })
	if err := ddata.Update(testContext(t), replica(t, nodes[1]), names, ddata.WriteMajority, add("x")); err != nil {
		t.Fatal(err)
	}
	if err := nodes[1].Leave(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

func TestOperatorDownsAMember(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	if err := nodes[0].Down(nodes[1].UID()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-nodes[1].Done():
	case <-time.After(limit):
		t.Fatal("the downed node goes on")
	}
	if !errors.Is(nodes[1].Err(), ddata.ErrDowned) {
		t.Fatalf("ended with %v", nodes[1].Err())
	}
	if err := nodes[0].Down(12345); err == nil {
		t.Fatal("downed a stranger")
	}
}

func TestClosedNodeAnswersWithItsEnd(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	r := replica(t, n)
	_ = n.Close()
	if err := ddata.Update(t.Context(), r, names, ddata.WriteLocal, add("x")); !errors.Is(err, ddata.ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if err := n.Err(); !errors.Is(err, ddata.ErrClosed) {
		t.Fatalf("ended with %v", err)
	}
}

func TestWatchersHearOfTheEndOnce(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	ends := make(chan error, 4)
	n.Host().Lifecycle.OnEnd(func(err error) { ends <- err })
	_ = n.Close()
	n.Host().Lifecycle.OnEnd(func(err error) { ends <- err }) // after the end
	for range 2 {
		select {
		case err := <-ends:
			if !errors.Is(err, ddata.ErrClosed) {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(limit):
			t.Fatal("a watcher did not hear of the end")
		}
	}
	if len(ends) > 0 {
		t.Error("a watcher heard of the end twice")
	}
}

// A role comes with its first node, also when the cluster is there already: no other node has data
// to give it.
func TestFirstNodeOfARoleJoins(t *testing.T) {
	nodes := startCluster(t, 2, nil)
	front := config(freeAddrs(t, 1)[0], []string{nodes[0].Addr()}, 0)
	front.Roles = []string{"front"}
	first := startAll(t, front)[0]
	r, err := first.Replicator("front")
	if err != nil {
		t.Fatal(err)
	}
	if err := ddata.Update(testContext(t), r, names, ddata.WriteMajority, add("x")); err != nil {
		t.Fatal(err)
	}
	front.Bind = freeAddrs(t, 1)[0]
	second, err := startAll(t, front)[0].Replicator("front")
	if err != nil {
		t.Fatal(err)
	}
	if set, err := ddata.Get(testContext(t), second, names, ddata.ReadMajority); err != nil || !set.Contains("x") {
		t.Fatalf("%v %v", set, err)
	}
}

// The only node of a role that crashed is replaced by a new incarnation, though no node is left
// that has data to give it.
func TestOnlyNodeOfARoleComesBack(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(3)
		configs := make([]ddata.Config, 3)
		for i := range configs {
			configs[i] = mem.config(addrs[i], addrs, 3)
		}
		configs[2].Roles = []string{"backend", "front"}
		nodes := startAll(t, configs...)
		_ = nodes[2].Close()
		back := startAll(t, configs[2])[0]
		r, err := back.Replicator("front")
		if err != nil {
			t.Fatal(err)
		}
		if err := ddata.Update(testContext(t), r, names, ddata.WriteMajority, add("x")); err != nil {
			t.Fatal(err)
		}
	})
}

// Watch yields the present view at once, and its last error says why there are no more.
func TestWatchYieldsViewsUntilTheEnd(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	gone := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	last := func(ctx context.Context, stop func()) (why error) {
		for v, err := range n.Watch(ctx) {
			if err != nil {
				return err
			}
			if v != n.View() || len(v.Members) != 1 {
				t.Errorf("it yields %v", v)
			}
			stop()
		}
		return nil
	}
	if err := last(ctx, func() { cancel(gone) }); !errors.Is(err, gone) {
		t.Errorf("when the caller goes: %v", err)
	}
	for range 2 { // and after the end
		if err := last(testContext(t), func() { _ = n.Close() }); !errors.Is(err, ddata.ErrClosed) {
			t.Errorf("when the node ends: %v", err)
		}
	}
}
