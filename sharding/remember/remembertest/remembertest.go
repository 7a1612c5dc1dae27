package remembertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// Run holds the stores that open makes to the laws. Each is empty, and seen through two doors, as
// two nodes would.
func Run(t *testing.T, open func(t testing.TB) (a, b remember.Store)) {
	t.Run("histories", func(t *testing.T) { histories(t, open) })
	t.Run("many", func(t *testing.T) { many(t, open) })
	t.Run("at one time", func(t *testing.T) { atOneTime(t, open) })
	t.Run("given up", func(t *testing.T) { givenUp(t, open) })
}

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// histories are random calls through either door, against a model that is a map; each call is made
// twice at times.
func histories(t *testing.T, open func(t testing.TB) (a, b remember.Store)) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := open(t)
		doors := []remember.Store{a, b}
		listed := map[protocol.ShardID]bool{}
		sets := map[protocol.ShardID]map[protocol.EntityID]bool{}
		for range rapid.IntRange(1, 30).Draw(rt, "calls") {
			door := rapid.SampledFrom(doors).Draw(rt, "door")
			shard := protocol.ShardID(rapid.SampledFrom([]uint32{0, 1, 7, 1 << 20}).Draw(rt, "shard"))
			twice := 1 + rapid.IntRange(0, 1).Draw(rt, "again")
			if rapid.Bool().Draw(rt, "list") {
				on := rapid.Bool().Draw(rt, "on")
				for range twice {
					must(rt, door.List(t.Context(), tool, only(on, shard), only(!on, shard)))
				}
				listed[shard] = on
				continue
			}
			add, remove := drawIDs(rt)
			for range twice {
				must(rt, door.Update(t.Context(), tool, shard, add, remove))
			}
			if sets[shard] == nil {
				sets[shard] = map[protocol.EntityID]bool{}
			}
			for _, id := range add {
				sets[shard][id] = true
			}
			for _, id := range remove {
				delete(sets[shard], id)
			}
		}
		for _, door := range doors {
			compare(t.Context(), rt, door, listed, sets)
		}
	})
}

func only(yes bool, s protocol.ShardID) []protocol.ShardID {
	if yes {
		return []protocol.ShardID{s}
	}
	return nil
}

// drawIDs draws ids to add and others to remove; some are strange.
func drawIDs(rt *rapid.T) (add, remove []protocol.EntityID) {
	for _, id := range []protocol.EntityID{"a", "A", "a/b", " ", "é", "0", protocol.EntityID(make([]byte, 500))} {
		switch rapid.IntRange(0, 2).Draw(rt, "change") {
		case 1:
			add = append(add, id)
		case 2:
			remove = append(remove, id)
		}
	}
	return add, remove
}

type failer interface{ Fatalf(string, ...any) }

func must(t failer, err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func compare(ctx context.Context, t failer, s remember.Store, listed map[protocol.ShardID]bool,
	sets map[protocol.ShardID]map[protocol.EntityID]bool) {
	shards, err := s.Shards(ctx, tool)
	must(t, err)
	for shard, on := range listed { // order: any that is missing fails
		if on && !slices.Contains(shards, shard) {
			t.Fatalf("shard %v is on the list, and not in %v", shard, shards)
		}
	}
	for shard, set := range sets { // order: any that differs fails
		ids, err := s.Load(ctx, tool, shard)
		must(t, err)
		slices.Sort(ids)
		if want := slices.Sorted(maps.Keys(set)); !slices.Equal(ids, want) {
			t.Fatalf("shard %v holds %q, want %q", shard, ids, want)
		}
	}
	if ids, err := s.Load(ctx, tool, 12345); err != nil || len(ids) > 0 {
		t.Fatalf("a shard that never was: %q %v", ids, err)
	}
}

// many ids come and go in calls as large as they get.
func many(t *testing.T, open func(t testing.TB) (a, b remember.Store)) {
	a, b := open(t)
	const n, batch = 20_000, 8192
	ids := make([]protocol.EntityID, n)
	for i := range ids {
		ids[i] = protocol.EntityID(fmt.Sprintf("entity-%06d", i))
	}
	for some := range slices.Chunk(ids, batch) {
		must(t, a.Update(t.Context(), tool, 3, some, nil))
	}
	must(t, b.Update(t.Context(), tool, 3, nil, ids[:n/2]))
	got, err := a.Load(t.Context(), tool, 3)
	must(t, err)
	slices.Sort(got)
	if !slices.Equal(got, ids[n/2:]) {
		t.Errorf("%d ids, want %d", len(got), n/2)
	}
}

// atOneTime changes many shards at one time, as the shards of a node do.
func atOneTime(t *testing.T, open func(t testing.TB) (a, b remember.Store)) {
	a, b := open(t)
	const shards = 64
	var all sync.WaitGroup
	errs := make([]error, shards)
	for i := range shards {
		all.Go(func() {
			s, store := protocol.ShardID(i), []remember.Store{a, b}[i%2]
			id := protocol.EntityID(fmt.Sprint(i))
			errs[i] = errors.Join(store.List(t.Context(), tool, []protocol.ShardID{s}, nil),
				store.Update(t.Context(), tool, s, []protocol.EntityID{id}, nil))
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	listed, sets := map[protocol.ShardID]bool{}, map[protocol.ShardID]map[protocol.EntityID]bool{}
	for i := range shards {
		listed[protocol.ShardID(i)] = true
		sets[protocol.ShardID(i)] = map[protocol.EntityID]bool{protocol.EntityID(fmt.Sprint(i)): true}
	}
	compare(t.Context(), t, a, listed, sets)
	compare(t.Context(), t, b, listed, sets)
}

// givenUp makes calls whose context has ended: they fail, and what they would have done can be done
// afterwards.
func givenUp(t *testing.T, open func(t testing.TB) (a, b remember.Store)) {
	a, b := open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	ids := []protocol.EntityID{"x"}
	_, loaded := a.Load(ended, tool, 1)
	_, named := a.Shards(ended, tool)
	for call, err := range map[string]error{
		"Load": loaded, "Shards": named, "Update": a.Update(ended, tool, 1, ids, nil),
		"List": a.List(ended, tool, []protocol.ShardID{1}, nil),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the context's error", call, err)
		}
	}
	must(t, b.Update(t.Context(), tool, 1, ids, nil))
	compare(t.Context(), t, a, nil, map[protocol.ShardID]map[protocol.EntityID]bool{1: {"x": true}})
}
