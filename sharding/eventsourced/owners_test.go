package eventsourced

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/remember"
)

// A hand-off waits for the write that is under way: it is not lost, and not made twice.
func TestHandOffWithAWriteInFlight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		_, nodes := cluster(t, 2)
		all := start(t, s.on(sumType(), sums()), nodes...)
		wants(t, all[0], "a", add{N: 1}, 1)
		home := hostOf(t, all, "a")
		s.hook(only("append", func(context.Context) error {
			<-open
			return nil
		}), nil)
		adding := asks(t, all[home], "a", add{N: 2})
		synctest.Wait()
		left := make(chan error, 1)
		go func() { left <- nodes[home].Leave(within(t, time.Minute)) }()
		<-time.After(500 * time.Millisecond)
		other := all[1-home]
		behind := asks(t, other, "a", get{})
		synctest.Wait()
		if len(adding)+len(behind)+len(left) > 0 {
			t.Fatal("the shard has moved with a write under way")
		}
		s.hook(nil, nil)
		close(open)
		if got := <-adding; got != (answer{3, nil}) {
			t.Error(got)
		}
		if got := <-behind; got != (answer{3, nil}) {
			t.Error(got)
		}
		if err := <-left; err != nil {
			t.Error(err)
		}
		s.of("a", func(x *history) {
			if x.last() != 2 {
				t.Errorf("%d events are stored, want 2", x.last())
			}
		})
	})
}

// What is kept of a hosting for its calls goes with it, whether its shard stops alone or with the node.
func TestHostingsEnd(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		meter := eventstest.NewMeter("coterie_persistence_", "type")
		_, nodes := cluster(t, 1)
		g := start(t, newShelf().on(sumType(), sums()), nodes...)[0]
		for id := range 20 {
			wants(t, g, fmt.Sprint(id), add{N: 1}, 1)
		}
		d := g.Attach(clientKey{}, nil).(*batch.Client)
		meter.Read(d.Report)
		meter.Want(t, map[string]int{"hostings": 4})
		if err := g.StopShards(within(t, time.Minute), 0, 2, 3); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		meter.Want(t, map[string]int{"hostings": 1})
		for id := range 20 {
			wants(t, g, fmt.Sprint(id), add{N: 1}, 2)
		}
		synctest.Wait()
		meter.Want(t, map[string]int{"hostings": 4})
		if err := nodes[0].Leave(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		meter.Want(t, map[string]int{"hostings": 0})
	})
}

// The Meter of a node gets what its entities ask of their store, until the region has ended.
func TestMetrics(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		meter := eventstest.NewMeter("coterie_persistence_", "type")
		_, nodes := cluster(t, 1, func(c *ddata.Config) { c.Meter = meter })
		g := start(t, newShelf().on(sumType(), sums()), nodes...)[0]
		wants(t, g, "a", add{N: 1}, 1)
		wants(t, g, "a", add{N: 1}, 2)
		synctest.Wait()
		meter.Want(t, map[string]int{
			"writes_total": 2, "loads_total": 1, "conflicts_total": 0, "call_duration_seconds kind=fence": 1,
			"request_duration_seconds kind=load": 1, "request_duration_seconds kind=append": 2,
			"call_duration_seconds kind=append": 2, "call_requests kind=append": 2,
		})
		if err := nodes[0].Leave(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n, is := meter.Values()["writes_total"]; is {
			t.Errorf("a region that has ended reports %d writes", n)
		}
	})
}

// hostOf is which of the regions hosts an entity.
func hostOf(t *testing.T, all []*sharding.Region[command], id string) int {
	t.Helper()
	loc, err := all[0].Where(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range all {
		if g.UID() == loc.Node {
			return i
		}
	}
	t.Fatal("no region hosts", id)
	return 0
}

// A node that is cut off with a write under way cannot write over its successor: when the write
// arrives at last it is refused, and there is one history.
func TestAnOwnerThatIsCutOff(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		c, nodes := cluster(t, 3)
		all := start(t, s.on(sumType(), sums()), nodes...)
		wants(t, all[0], "a", add{N: 1}, 1)
		home := hostOf(t, all, "a")
		var held atomic.Bool
		s.hook(only("append", func(context.Context) error {
			if held.CompareAndSwap(false, true) {
				<-open
			}
			return nil
		}), nil)
		adding := asks(t, all[home], "a", add{N: 2})
		synctest.Wait()
		c.Isolate(home)
		<-time.After(time.Minute) // the others remove it, and its lease ends
		other := all[(home+1)%3]
		wants(t, other, "a", get{}, 1)
		wants(t, other, "a", add{N: 10}, 11)
		close(open)
		if got := <-adding; got.err == nil {
			t.Errorf("a deposed owner has answered with %d", got.n)
		}
		synctest.Wait()
		s.of("a", func(x *history) {
			if x.last() != 2 || len(x.writes) != 2 {
				t.Errorf("%d events by %d writes are stored, want 2 by 2", x.last(), len(x.writes))
			}
		})
		wants(t, other, "a", get{}, 11)
	})
}

// A store that refuses an incarnation, because another one has begun, stops it from answering.
func TestFenced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		g := single(t, s, sums())
		wants(t, g, "a", add{N: 1}, 1)
		s.mu.Lock()
		for shard, h := range s.fences {
			h.Token.Seq += 1000
			s.fences[shard] = h
		}
		s.mu.Unlock()
		if got := <-asks(t, g, "a", add{N: 2}); got.err == nil {
			t.Error(got)
		}
		got := <-asks(t, g, "a", get{})
		if !errors.Is(got.err, sharding.ErrHandler) && !errors.Is(got.err, sharding.ErrTimeout) {
			t.Error("a read without a hosting:", got)
		}
		s.of("a", func(x *history) {
			if x.last() != 1 {
				t.Errorf("%d events are stored", x.last())
			}
		})
	})
}

// Remembered entities come back by themselves with their state, on whatever node.
func TestRememberedEntitiesComeBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		typ, b := sumType(), sums()
		typ.Remember = sharding.Remember{Entities: true, Store: &remember.Memory{}}
		started := make(chan int, 100)
		b.Started = func(_ *sharding.Context[command], x sum) error {
			started <- x.total()
			return nil
		}
		_, nodes := cluster(t, 2)
		all := start(t, s.on(typ, b), nodes...)
		wants(t, all[0], "a", add{N: 4}, 4)
		if n := <-started; n != 0 {
			t.Error("started with", n)
		}
		home := hostOf(t, all, "a")
		if err := nodes[home].Leave(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		if n := <-started; n != 4 {
			t.Error("it came back with", n)
		}
		wants(t, all[1-home], "a", get{}, 4)
	})
}
