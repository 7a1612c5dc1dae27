package sharding

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// restarted is one life of a cluster of two nodes with directories, on which a type that remembers
// nothing was started first, and one that does after it.
type restarted struct {
	t      *testing.T
	nodes  []*ddata.Node
	carts  []*Region[message_]
	log    cartLog
	shards int
}

func restart(t *testing.T, dirs []string, shards int, by ShardFunc) *restarted {
	t.Helper()
	r := &restarted{t: t, shards: shards}
	r.nodes = ddatatest.StartWith(t, len(dirs), func(i int, c *ddata.Config) {
		c.Roles, c.Dir, c.Preset = []string{"backend"}, dirs[i], ddata.LAN
	})
	for _, n := range r.nodes {
		plain := cartType(&cartLog{})
		plain.Name = "Plain"
		g, err := Start(n, plain)
		if err == nil {
			err = g.Tell(t.Context(), "a", addItem{}) // it is in use before the other comes
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range r.nodes {
		typ := cartType(&r.log)
		typ.Shards, typ.ShardOf, typ.Remember.Entities, typ.Coordination.RetryInterval = shards, by,
			true, 100*time.Millisecond
		g, err := Start(n, typ)
		if err != nil {
			t.Fatal(err)
		}
		r.carts = append(r.carts, g)
	}
	return r
}

func (r *restarted) stop() {
	for _, n := range r.nodes {
		_ = n.Close()
	}
}

// until waits for what is soon so.
func (r *restarted) until(what string, so func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); !so(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s: not within a minute; %d carts were made", what, r.log.made.Load())
		}
	}
}

// remembered returns the shards that are listed, and the sets of the shards below the given number.
func (r *restarted) remembered(shards int) (listed []protocol.ShardID, sets [][]protocol.EntityID) {
	r.t.Helper()
	store := dataStore{r.carts[0].run.control.State}
	listed, err := store.Shards(r.t.Context(), FencingToken{})
	if err != nil {
		r.t.Fatal(err)
	}
	for s := range shards {
		ids, err := store.Load(r.t.Context(), FencingToken{}, protocol.ShardID(s))
		if err != nil {
			r.t.Fatal(err)
		}
		sets = append(sets, ids)
	}
	slices.Sort(listed)
	return listed, sets
}

// The whole cluster is stopped and started again: without a message every remembered entity runs,
// although a type that remembers nothing came first. A shard whose last entity went is forgotten.
// With another number of shards and another function all entities run in their shards, and the sets are
// put in order.
func TestFullRestart(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	const before, after = 16, 5
	first := restart(t, dirs, before, XXHash)
	ctx := within(t, 2*time.Minute)
	left := 0
	for i := range 60 {
		id := fmt.Sprint("cart-", i)
		if _, err := first.carts[i%2].StartEntity(ctx, id); err != nil {
			t.Fatal(err)
		}
		if ShardOf(id, before) != 3 {
			left++
			continue
		}
		if err := first.carts[i%2].Passivate(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	first.until("the emptied shard is forgotten", func() bool {
		listed, sets := first.remembered(before)
		return len(listed) > 0 && !slices.Contains(listed, 3) && len(sets[3]) == 0
	})
	first.stop()

	same := restart(t, dirs, before, XXHash)
	same.until("all run again", func() bool { return same.log.made.Load() == int64(left) })
	if same.carts[0].Stats().Shards+same.carts[1].Stats().Shards >= before {
		t.Error("the shard that was emptied was started")
	}
	same.stop()

	moved := restart(t, dirs, after, Murmur2)
	moved.until("all run in their new shards", func() bool { return moved.log.made.Load() == int64(left) })
	moved.until("the sets are in order", func() bool {
		listed, sets := moved.remembered(before)
		if len(listed) > after || slices.Max(listed) >= after {
			return false
		}
		n := 0
		for s, ids := range sets {
			for _, id := range ids {
				if Murmur2.Shard(id, after) != protocol.ShardID(s) {
					return false
				}
				n++
			}
		}
		return n == left
	})
	if n := moved.log.made.Load(); n != int64(left) {
		t.Errorf("%d entities were made of %d", n, left)
	}
	moved.stop()

	again := restart(t, dirs, after, Murmur2)
	again.until("all run again in the new shards", func() bool { return again.log.made.Load() == int64(left) })
	again.stop()
}

// Types that remember and one that does not share the data of their role. Whichever a node starts
// first, after a restart of all nodes, and in another order, exactly what was remembered runs again
// (A9).
func TestRestartWithTypesThatRememberAndOneThatDoesNot(t *testing.T) {
	const each = 15
	dirs := []string{t.TempDir(), t.TempDir()}
	life := func(orders ...[]string) (nodes []*ddata.Node, regions map[string]*Region[message_],
		logs map[string]*cartLog) {
		nodes = ddatatest.StartWith(t, len(dirs), func(i int, c *ddata.Config) {
			c.Roles, c.Dir = []string{"backend"}, dirs[i]
		})
		regions, logs = map[string]*Region[message_]{}, map[string]*cartLog{"Plain": {}, "Cart": {}, "Wish": {}}
		for i, n := range nodes {
			for _, name := range orders[i] {
				typ := cartType(logs[name])
				typ.Name, typ.Remember.Entities = name, name != "Plain"
				g, err := Start(n, typ)
				if err != nil {
					t.Fatal(err)
				}
				regions[name] = g
			}
		}
		return nodes, regions, logs
	}
	live := func(logs map[string]*cartLog, want map[string]int64) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
			got := map[string]int64{}
			for name, l := range logs {
				got[name] = l.made.Load()
			}
			if maps.Equal(got, want) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("made were %v, want %v", got, want)
			}
		}
	}
	nodes, regions, logs := life([]string{"Plain", "Cart", "Wish"}, []string{"Wish", "Plain", "Cart"})
	ctx := within(t, time.Minute)
	for name, g := range regions {
		for i := range each {
			if _, err := g.StartEntity(ctx, fmt.Sprint(name, "-", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	live(logs, map[string]int64{"Plain": each, "Cart": each, "Wish": each})
	for _, n := range nodes {
		_ = n.Close()
	}
	nodes, _, logs = life([]string{"Wish", "Cart", "Plain"}, []string{"Plain", "Cart", "Wish"})
	live(logs, map[string]int64{"Plain": 0, "Cart": each, "Wish": each})
	for _, n := range nodes {
		_ = n.Close()
	}
}

// What a start writes does not depend on how many are remembered: the first hundred cost as many
// rows and bytes as the last.
func TestStartCostsTheSame(t *testing.T) {
	r := restart(t, []string{t.TempDir()}, 1, XXHash)
	ctx := within(t, 2*time.Minute)
	start := func(from, to int) {
		for i := from; i < to; i++ {
			if err := r.carts[0].Tell(ctx, fmt.Sprintf("cart-%08d", i), addItem{}); err != nil {
				t.Fatal(err)
			}
		}
		r.until("they run", func() bool { return r.log.made.Load() == int64(to) })
	}
	const part = 100
	start(0, part)
	measure := func(from int) (rows, bytes uint64) {
		was := r.nodes[0].StoreStats()
		start(from, from+part)
		is := r.nodes[0].StoreStats()
		return is.Rows - was.Rows, is.Bytes - was.Bytes
	}
	rows, bytes := measure(part)
	start(2*part, 20_000)
	lateRows, lateBytes := measure(20_000)
	t.Logf("%d rows and %d bytes for the second hundred, %d and %d for the last", rows, bytes, lateRows, lateBytes)
	if lateRows > rows+rows/2 || lateBytes > bytes+bytes/2 || rows < part {
		t.Errorf("%d rows and %d bytes for the second hundred, %d and %d for one after 20,000",
			rows, bytes, lateRows, lateBytes)
	}
}
