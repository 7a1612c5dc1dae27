package remembertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// RunFenced holds the stores that open makes to the laws about tokens. They are as those of Run.
func RunFenced(t *testing.T, open func(t testing.TB) (a, b remember.Store)) {
	for name, law := range fenced {
		t.Run(name, func(t *testing.T) { law(t, func() (a, b remember.Store) { return open(t) }) })
	}
}

// tb is a test, or the record of one that may fail.
type tb interface {
	rapid.TB
	Context() context.Context
}

var fenced = map[string]func(t tb, open func() (a, b remember.Store)){
	"sets": fencedSets, "list": fencedList,
}

// hosting is a token, in the order of n.
func hosting(n int) singleton.FencingToken {
	return singleton.FencingToken{Era: 1, Epoch: view.Epoch(1 + n/4), Up: 1, Seq: uint64(1 + n%4)}
}

// fencedSets are random calls of several hostings through either door, in any order, against a model
// that knows the latest hosting. A hosting may begin with either call.
func fencedSets(t tb, open func() (a, b remember.Store)) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := open()
		latest, set, other := -1, map[protocol.EntityID]bool{}, []protocol.EntityID{"other"}
		must(rt, a.Update(t.Context(), hosting(0), 1, other, nil)) // the shards are nothing to each other
		for range rapid.IntRange(1, 20).Draw(rt, "calls") {
			door := rapid.SampledFrom([]remember.Store{a, b}).Draw(rt, "door")
			n := rapid.IntRange(-1, 8).Draw(rt, "hosting") // -1: a tool
			by, late := tool, n >= 0 && n < latest
			if n >= 0 {
				by = hosting(n)
			}
			var err error
			if rapid.Bool().Draw(rt, "load") {
				var ids []protocol.EntityID
				ids, err = door.Load(t.Context(), by, 0)
				slices.Sort(ids)
				if want := slices.Sorted(maps.Keys(set)); !late && !slices.Equal(ids, want) {
					rt.Fatalf("hosting %d loads %q, %v; want %q", n, ids, err, want)
				}
			} else {
				add, remove := drawIDs(rt)
				if err = door.Update(t.Context(), by, 0, add, remove); !late {
					for _, id := range add {
						set[id] = true
					}
					for _, id := range remove {
						delete(set, id)
					}
				}
			}
			if late != errors.Is(err, remember.ErrFenced) || !late && err != nil {
				rt.Fatalf("hosting %d after %d got %v", n, latest, err)
			}
			latest = max(latest, n)
		}
		compare(t.Context(), rt, a, nil, map[protocol.ShardID]map[protocol.EntityID]bool{0: set, 1: {"other": true}})
		_, err := b.Load(t.Context(), hosting(0), 1)
		must(rt, err)
	})
}

// fencedList are random calls of List by hostings of several shards, one shard each, against a model of
// each shard. At times each shard is looked at by a tool that knows all of it.
func fencedList(t tb, open func() (a, b remember.Store)) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := open()
		latest, on := map[protocol.ShardID]int{}, map[protocol.ShardID]bool{}
		for range rapid.IntRange(1, 30).Draw(rt, "calls") {
			door := rapid.SampledFrom([]remember.Store{a, b}).Draw(rt, "door")
			shard := protocol.ShardID(rapid.SampledFrom([]uint32{0, 1, 7}).Draw(rt, "shard"))
			n, puts := rapid.IntRange(0, 8).Draw(rt, "hosting"), rapid.Bool().Draw(rt, "on")
			must(rt, door.List(t.Context(), hosting(n), only(puts, shard), only(!puts, shard)))
			if n >= latest[shard] {
				latest[shard], on[shard] = n, puts
			}
			shards, err := door.Shards(t.Context(), hosting(rapid.IntRange(0, 8).Draw(rt, "term")))
			must(rt, err)
			for s, is := range on { // order: any that differs fails
				if is != slices.Contains(shards, s) {
					rt.Fatalf("shard %v on the list: %v, want %v", s, !is, is)
				}
			}
		}
	})
}
