package doc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
)

// heapOfKeys is the memory of keys with one item each, such as counters and registers.
func heapOfKeys(keys, nameAndValue int) int { return keys * (110 + nameAndValue) }

// heapOfItems is the memory of elements of large sets and maps.
func heapOfItems(items, elementAndValue int) int { return items * (105 + elementAndValue) }

// heapOfLog is the memory of the last changes, which a node keeps to send them again. Of those that
// later ones have replaced it keeps the items.
func heapOfLog(changes, replaced, value int) int { return 90*changes + replaced*(64+value) }

// heapOfEntities is the memory of active entities that rest.
func heapOfEntities(entities, idAndState int) int { return entities * (330 + idAndState) }

// heapOfMembers is the memory of the connections of a node while they are quiet.
func heapOfMembers(members int) int { return 72_000 * (members - 1) }

// fileOfItems is the disk of durable elements of large sets and maps.
func fileOfItems(items, elementAndValue int) int { return items * (52 + elementAndValue) }

// fileOfKeys is the disk of durable keys with one item each.
func fileOfKeys(keys, nameAndValue int) int { return keys * (57 + nameAndValue) }

// bytesWhenIdle is what a node sends in a second when nothing happens, with the timers of LAN: the gossip
// of its roles, and a heartbeat to each voter.
func bytesWhenIdle(roles, voters int) int { return 60 + 180*roles + 65*voters }

// bytesOfVoter is what a voter sends beside that: an answer to each member.
func bytesOfVoter(members int) int { return 40 * members }

// A node of ten members, with a million counters, a full log, and 100,000 entities of 100 bytes.
func Example_sizing() {
	const million = 1_000_000
	live := heapOfMembers(10) + heapOfKeys(million, 16+1) + heapOfLog(1<<18, 1<<18, 1) + heapOfEntities(million/10, 100)
	fmt.Println(live/million, "MB of memory are live,", fileOfKeys(million, 16+1)/million, "MB are on disk")
	// Output: 211 MB of memory are live, 74 MB are on disk
}

// near holds a formula to what is measured: within a third.
func near(t *testing.T, what string, formula, measured int) {
	t.Helper()
	t.Logf("%s: %d by the formula, %d measured", what, formula, measured)
	if 3*measured < 2*formula || 3*measured > 4*formula {
		t.Errorf("%s: %d by the formula, %d measured", what, formula, measured)
	}
}

// What members send when nothing happens.
func TestSizingOfMembers(t *testing.T) {
	for _, c := range []struct{ members, voters, roles int }{
		{3, 3, 1}, {3, 3, 4}, {10, 10, 1}, {20, 20, 1}, {20, 5, 1},
	} {
		bubble.Test(t, func(t *testing.T) {
			cluster := ddatatest.NewCluster(t, c.members, func(_ int, cfg *ddata.Config) {
				cfg.Preset, cfg.Timing, cfg.VotersMax = ddata.LAN, membership.Timing{}, c.voters
				for i := range c.roles {
					cfg.Roles = append(cfg.Roles, fmt.Sprint("role-", i))
				}
			})
			votes := map[view.UID]bool{}
			for _, m := range cluster.Node(0).View().Voters() {
				votes[m.UID] = true
			}
			sent := func() (byVoters, byOthers int) {
				for _, n := range cluster.Nodes() {
					if b := int(n.TransportStats().BytesOut); votes[n.UID()] {
						byVoters += b
					} else {
						byOthers += b
					}
				}
				return byVoters, byOthers
			}
			const seconds = 60
			<-time.After(seconds * time.Second) // of the bubble: what starts has come to rest
			votersBefore, othersBefore := sent()
			<-time.After(seconds * time.Second)
			voters, others := sent()
			if len(votes) != c.voters {
				t.Fatalf("%d voters, want %d", len(votes), c.voters)
			}
			what := fmt.Sprintf("bytes a second, %d members, %d voters, %d roles", c.members, c.voters, c.roles)
			near(t, what+", a voter", bytesWhenIdle(c.roles, c.voters)+bytesOfVoter(c.members),
				(voters-votersBefore)/seconds/c.voters)
			if rest := c.members - c.voters; rest > 0 {
				near(t, what+", another one", bytesWhenIdle(c.roles, c.voters), (others-othersBefore)/seconds/rest)
			}
		})
	}
}

const sized = 50_000 // of whatever is measured

// sizedName is a name of 16 bytes. Names that follow each other lie apart in their order.
func sizedName(i int) string { return fmt.Sprintf("counter-%08d", i*61_803_399%100_000_000) }

// What lies in the memory of a replica.
func TestSizingOfData(t *testing.T) {
	count := func(r *crdt.Replica) {
		for i := range sized {
			add := crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(1) })
			if _, err := r.Update(sizedName(i), 0, add, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	counters := func(log int) *crdt.Replica {
		r := crdt.NewReplica(1, crdt.StoreOptions{LogMax: log})
		count(r)
		return r
	}
	before := heap()
	r := counters(1)
	keys := heap() - before
	near(t, "a key", heapOfKeys(sized, 16+1)/sized, keys/sized)
	runtime.KeepAlive(r)

	r = nil
	before = heap()
	r = counters(2 * sized)
	near(t, "a change in the log", heapOfLog(sized, 0, 1)/sized, (heap()-before-keys)/sized)
	count(r)
	near(t, "two changes of one counter in the log", heapOfLog(2*sized, sized, 1)/sized, (heap()-before-keys)/sized)
	runtime.KeepAlive(r)

	r = nil
	before = heap()
	r = crdt.NewReplica(1, crdt.StoreOptions{LogMax: 1})
	for i := range sized {
		add := crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add(sizedName(i)) })
		if _, err := r.Update("set", 0, add, nil); err != nil {
			t.Fatal(err)
		}
	}
	near(t, "an item", heapOfItems(sized, 16)/sized, (heap()-before)/sized)
	runtime.KeepAlive(r)
}

// What an entity takes that rests.
func TestSizingOfEntities(t *testing.T) {
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
		if _, err := sharding.Ask(ctx, rests.Ref(sizedName(i)), rest{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sized / 10 { // so that all shards and their machines are there
		start(sized + i)
	}
	before := heap()
	for i := range sized {
		start(i)
	}
	near(t, "an entity", heapOfEntities(sized, 16)/sized, (heap()-before)/sized)
	if err := local.Stop(ctx, nodes); err != nil {
		t.Error(err)
	}
}

// What a node takes for its connections.
func TestSizingOfNodes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, n := range []int{8, 16} { // with fewer it is lost in what comes and goes
		nodes, err := local.Start(ctx, n, ddata.Config{Name: "sizes", Roles: []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		for look := time.NewTicker(time.Millisecond); !linked(nodes) && ctx.Err() == nil; <-look.C {
		}
		with := heap()
		if err := local.Stop(ctx, nodes); err != nil {
			t.Error(err)
		}
		clear(nodes)
		// What tests before have left is gone by now: it must not count on one side alone.
		near(t, fmt.Sprintf("one of %d members", n), heapOfMembers(n), (with-heap())/n)
	}
}

// linked reports whether each node has its connections with all others, in both directions and for both kinds of
// lanes.
func linked(nodes []*ddata.Node) bool {
	all := int64(2 * (len(nodes) - 1))
	return !slices.ContainsFunc(nodes, func(n *ddata.Node) bool {
		s := n.TransportStats()
		return s.LinksUp < all || s.Readers < all
	})
}

// What lies on disk.
func TestSizingOfFiles(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const batch = 10_000
	file := func(add func(*ddata.Replicator, int) error) int {
		nodes, err := local.Start(ctx, 1, ddata.Config{
			Name: "sizes", Roles: []string{"x"}, Dir: t.TempDir(), DurableKeys: []string{"*"},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, err := nodes[0].Replicator("x")
		if err != nil {
			t.Fatal(err)
		}
		for i := range sized / batch {
			if err := add(r, i*batch); err != nil {
				t.Fatal(err)
			}
		}
		size := nodes[0].StoreStats().File
		if err := local.Stop(ctx, nodes); err != nil {
			t.Error(err)
		}
		return int(size)
	}
	near(t, "a key on disk", fileOfKeys(sized, 16+1)/sized, file(func(r *ddata.Replicator, from int) error {
		const callers = 100
		errs := make([]error, callers)
		var all sync.WaitGroup
		for c := range callers {
			all.Go(func() {
				for i := c; i < batch && errs[c] == nil; i += callers {
					errs[c] = ddata.Update(ctx, r, ddata.NewKey[crdt.GCounter](sizedName(from+i)), ddata.WriteLocal,
						func(g *crdt.GCounterTx) error { return g.Increment(1) })
				}
			})
		}
		all.Wait()
		return errors.Join(errs...)
	})/sized)
	set := ddata.NewKey[crdt.ORSet[string]]("set")
	near(t, "an item on disk", fileOfItems(sized, 16)/sized, file(func(r *ddata.Replicator, from int) error {
		return ddata.Update(ctx, r, set, ddata.WriteLocal, func(s *crdt.ORSetTx[string]) error {
			for i := range batch {
				if err := s.Add(sizedName(from + i)); err != nil {
					return err
				}
			}
			return nil
		})
	})/sized)
}

// heap is the live memory, stacks included.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

type rest struct{ sharding.Returns[rest, bool] }

type resting struct{}

func (resting) Receive(c *sharding.Context[rest], _ rest) error { return c.Reply(true) }
