package sharding

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// Without disks remembered entities run again, with no message, after the death of a node and after
// one has left. They do not after a stop of all nodes.
func TestRememberingWithoutDisks(t *testing.T) {
	const entities, count = 30, 3
	logs := [count]*cartLog{}
	regions := [count]*Region[message_]{}
	life := func() []*ddata.Node {
		nodes := ddatatest.StartWith(t, count, func(_ int, c *ddata.Config) {
			c.Roles, c.DurableKeys = []string{"backend"}, []string{}
		})
		for i, n := range nodes {
			logs[i] = &cartLog{}
			typ := cartType(logs[i])
			typ.Remember.Entities = true
			g, err := Start(n, typ)
			if err != nil {
				t.Fatal(err)
			}
			regions[i] = g
		}
		return nodes
	}
	running := func() (n int64) {
		for _, l := range logs {
			n += l.made.Load() - l.stopped.Load()
		}
		return n
	}
	allRun := func(when string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); running() != entities; <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s %d entities run, want %d", when, running(), entities)
			}
		}
	}
	nodes := life()
	for i := range entities {
		if _, err := regions[0].StartEntity(within(t, time.Minute), fmt.Sprint("cart-", i)); err != nil {
			t.Fatal(err)
		}
	}
	allRun("at first")

	if logs[0].made.Load() == 0 {
		t.Error("no entity runs on the node that dies")
	}
	_ = nodes[0].Close()
	logs[0] = &cartLog{}
	allRun("after a death")
	if err := nodes[1].Leave(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	allRun("after one has left")

	_ = nodes[2].Close()
	life()
	if _, err := regions[0].StartEntity(within(t, time.Minute), "another"); err != nil {
		t.Fatal(err)
	}
	if n, missing := regions[0].TotalActive(within(t, time.Minute)); n != 1 || len(missing) > 0 {
		t.Errorf("after a stop of all nodes %d entities run, want the new one; no answer of %v", n, missing)
	}
}
