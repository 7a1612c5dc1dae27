package ddata_test

import (
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

func TestDeleteForeverIsFinal(t *testing.T) {
	n := alone(t, t.TempDir(), keeping("kept/*"))
	r, ctx := replica(t, n), testContext(t)
	for _, name := range []string{"s", "kept/s"} {
		key := ddata.NewKey[crdt.ORSet[string]](name)
		mustAdd(t, n, name, "x")
		for range 2 { // once more is no error
			if err := ddata.DeleteForever(ctx, r, key, ddata.WriteMajority); err != nil {
				t.Fatal(err)
			}
		}
		for _, level := range []ddata.ReadLevel{ddata.ReadLocal, ddata.ReadLocal, ddata.ReadMajority} {
			if _, err := ddata.Get(ctx, r, key, level); !errors.Is(err, crdt.ErrDeleted) {
				t.Fatalf("get at %v: %v", level, err)
			}
		}
		if err := ddata.Update(ctx, r, key, ddata.WriteLocal, add("y")); !errors.Is(err, crdt.ErrDeleted) {
			t.Fatal(err)
		}
	}
}

// untilDeleted waits until a key is deleted.
func untilDeleted(t *testing.T, r *ddata.Replicator, key string) {
	t.Helper()
	for c, err := range r.Watch(testContext(t), key) {
		if err != nil {
			t.Error(err)
		}
		if c.Deleted {
			return
		}
	}
}

func TestKeysExpire(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		n := mem.alone("", func(c *ddata.Config) { c.Expire = map[string]time.Duration{"brief/*": time.Second} })
		mustAdd(t, n, "brief/s", "x")
		mustAdd(t, n, "s", "x")
		untilDeleted(t, replica(t, n), "brief/s")
		if !holds(t, n, "s", "x") {
			t.Fatal("the other key expired too")
		}
	})
}

// A rule is added by restarting the nodes one by one. None is refused, and keys expire when the
// last has been restarted.
func TestARollingRestartAddsARule(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		for _, key := range []string{"brief/s", "s"} {
			mustAdd(t, nodes[0], key, "x")
		}
		seeds := []string{nodes[0].Addr(), nodes[1].Addr(), nodes[2].Addr()}
		for i, n := range nodes {
			if err := n.Leave(testContext(t)); err != nil {
				t.Fatal(err)
			}
			c := mem.config(seeds[i], seeds, 0)
			c.Expire = map[string]time.Duration{"brief/*": time.Second}
			nodes[i] = startAll(t, c)[0]
		}
		for ctx := testContext(t); holds(t, nodes[2], "brief/s", "x"); <-time.After(time.Millisecond) {
			if ctx.Err() != nil {
				t.Fatal("the key does not expire")
			}
		}
		if !holds(t, nodes[2], "s", "x") {
			t.Error("the other key has expired")
		}
	})
}
