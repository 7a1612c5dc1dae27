package ddata_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestARollingRestartMakesKeysDurable: nodes are restarted one by one with a further pattern, while
// two others write. Nothing that was acknowledged is lost, and all of it outlives a stop of the
// whole cluster.
func TestARollingRestartMakesKeysDurable(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	nodes := startCluster(t, 3, dirs)
	seeds := []string{nodes[0].Addr(), nodes[1].Addr(), nodes[2].Addr()}
	restarted := func(i, expect int) ddata.Config {
		c := config(seeds[i], seeds, expect)
		c.Dir, c.DurableKeys = dirs[i], []string{"kept/*", "late/*"}
		return c
	}
	key, count := ddata.NewKey[crdt.ORSet[string]]("late/set"), ddata.NewKey[crdt.GCounter]("late/count")
	var acked []string
	write := func(n *ddata.Node, i int) error {
		elem := fmt.Sprint("e", i)
		if err := ddata.Update(t.Context(), replica(t, n), key, ddata.WriteMajority, add(elem)); err != nil {
			return err
		}
		acked = append(acked, elem)
		return ddata.Update(t.Context(), replica(t, n), count, ddata.WriteMajority,
			func(tx *crdt.GCounterTx) error { return tx.Increment(1) })
	}
	i := 0
	for at, n := range nodes {
		stop, writer := make(chan struct{}), sync.WaitGroup{}
		writer.Go(func() { // at a node that stays
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := write(nodes[(at+1)%3], i); err != nil {
					t.Errorf("write %d while node %d is restarted: %v", i, at, err)
					return
				}
				i++
			}
		})
		if err := n.Leave(testContext(t)); err != nil {
			t.Error(err)
		}
		nodes[at] = startAll(t, restarted(at, 0))[0]
		until(t, nodes[at], "durable", func(v *view.View) bool { return len(v.Moving) == 0 })
		close(stop)
		writer.Wait()
	}
	if v := nodes[0].View(); v.Moves != 1 || len(v.Durable) != 2+len(host.DurableKeys()) {
		t.Errorf("after the restarts: %v", v)
	}
	check := func(when string) {
		t.Helper()
		for at, n := range nodes {
			set, err := ddata.Get(t.Context(), replica(t, n), key, ddata.ReadMajority)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range acked {
				if !set.Contains(e) {
					t.Errorf("%s: node %d lacks %s, which was acknowledged", when, at, e)
				}
			}
			if c, err := ddata.Get(t.Context(), replica(t, n), count, ddata.ReadMajority); err != nil ||
				int(c.Value()) != len(acked) {
				t.Errorf("%s: node %d counts %d of %d, %v", when, at, c.Value(), len(acked), err)
			}
		}
	}
	check("before the stop")
	for _, n := range nodes {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	nodes = startAll(t, restarted(0, 3), restarted(1, 3), restarted(2, 3))
	check("after the stop")
	t.Logf("%d writes", len(acked))
}
