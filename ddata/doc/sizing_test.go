package doc_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
)

// heapOfKeys is the memory of keys with one item each, such as counters and registers, without what
// they hold. The log of the last writes has up to 20,000 events beside.
func heapOfKeys(keys, nameAndValue int) int { return keys * (230 + nameAndValue) }

// heapOfItems is the memory of elements of large sets and maps.
func heapOfItems(items, elementAndValue int) int { return items * (105 + elementAndValue) }

// heapOfEntities is the memory of active entities that rest.
func heapOfEntities(entities, idAndState int) int { return entities * (330 + idAndState) }

// bytesWhenIdle is what a node sends in a second when nothing happens, with the timers of LAN and one
// role. Above 25 members it grows no more.
func bytesWhenIdle(members int) int { return 250 + 105*min(members, 25) }

// What members send when nothing happens is within a third of the formula.
func TestSizingOfMembers(t *testing.T) {
	for _, n := range []int{3, 10, 20} {
		bubble.Test(t, func(t *testing.T) {
			c := ddatatest.NewCluster(t, n, func(_ int, c *ddata.Config) {
				c.Preset, c.Timing = ddata.LAN, membership.Timing{}
			})
			sent := func() (sum uint64) {
				for _, node := range c.Nodes() {
					sum += node.TransportStats().BytesOut
				}
				return sum
			}
			const seconds = 60
			<-time.After(seconds * time.Second) // of the bubble: what starts has come to rest
			before := sent()
			<-time.After(seconds * time.Second)
			measured := float64(sent()-before) / seconds / float64(n)
			t.Logf("%d members: %d bytes a second by the formula, %.0f measured", n, bytesWhenIdle(n), measured)
			if f := float64(bytesWhenIdle(n)); measured < f*2/3 || measured > f*4/3 {
				t.Errorf("%d members: %.0f bytes a second by the formula, %.0f measured", n, f, measured)
			}
		})
	}
}

// Each formula is within a third of what is measured.
func TestSizing(t *testing.T) {
	const n = 50_000
	name := func(i int) string { return fmt.Sprintf("counter-%08d", i) } // 16 bytes
	check := func(what string, formula int, measured uint64) {
		t.Helper()
		t.Logf("%s: %d bytes each by the formula, %d measured", what, formula/n, measured/n)
		if f, m := float64(formula), float64(measured); m < f*2/3 || m > f*4/3 {
			t.Errorf("%s: %.0f bytes by the formula, %.0f measured", what, f, m)
		}
	}

	before := heap()
	r := crdt.NewReplica(1, crdt.StoreOptions{LogMax: 1})
	for i := range n {
		add := crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
		if _, err := r.Update(name(i), 0, add, nil); err != nil {
			t.Fatal(err)
		}
	}
	check("keys", heapOfKeys(n, 16+1), heap()-before)
	runtime.KeepAlive(r)

	before = heap()
	r = crdt.NewReplica(1, crdt.StoreOptions{LogMax: 1})
	for i := range n {
		add := crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add(name(i)) })
		if _, err := r.Update("set", 0, add, nil); err != nil {
			t.Fatal(err)
		}
	}
	check("items", heapOfItems(n, 16), heap()-before)
	runtime.KeepAlive(r)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nodes, err := local.Start(ctx, 1, ddata.Config{Name: "sizes", Roles: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	rests, err := sharding.Start(nodes[0], sharding.EntityType[rest]{
		Identity: sharding.Identity{Name: "Rest", Role: "x"},
		Messages: sharding.CBOR[rest](rest{}),
		New:      func(*sharding.Context[rest]) sharding.Entity[rest] { return resting{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	start := func(i int) {
		if _, err := sharding.Ask(ctx, rests.Ref(name(i)), rest{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5000 { // so that all shards and their machines are there
		start(n + i)
	}
	before = heap()
	for i := range n {
		start(i)
	}
	check("entities", heapOfEntities(n, 16), heap()-before)
	if err := local.Stop(ctx, nodes); err != nil {
		t.Error(err)
	}
}

// heap is the live memory.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type rest struct{ sharding.Returns[rest, bool] }

type resting struct{}

func (resting) Receive(c *sharding.Context[rest], _ rest) error { return c.Reply(true) }
