package sharding

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// byTenant is a function of the user's: what stands before the colon decides.
func byTenant(name string) ShardFunc {
	return ShardFunc{Name: name, Of: func(id string) ShardID {
		tenant, _, ok := strings.Cut(id, ":")
		if !ok {
			panic("no tenant")
		}
		return 15 + ShardID(len(tenant)) // of 16 shards: modulo
	}}
}

// A type may spread its ids as Kafka does its keys, or by a function of the user's. Every region
// goes by it, and a node with another takes no part: both sides say which two there are.
func TestShardFuncs(t *testing.T) {
	for name, c := range map[string]struct {
		of    ShardFunc
		shard func(id string) ShardID
	}{
		"murmur2": {Murmur2, func(id string) ShardID { return Murmur2.Shard(protocol.EntityID(id), 16) }},
		"own":     {byTenant("tenant"), func(id string) ShardID { return ShardID(strings.Index(id, ":") - 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				typ := cartType(&cartLog{})
				typ.ShardOf = c.of
				g, proxy := start(w.join("backend"), typ), start(w.join("frontend"), typ)
				w.install()
				ctx := within(t, time.Hour)
				for _, id := range []string{"a:1", "a:2", "bb:1", "ccc:1", "dddd:1"} {
					loc, err := proxy.StartEntity(ctx, id)
					if want := c.shard(id); err != nil || loc.Shard != want || g.ShardOf(id) != want {
						t.Errorf("%s is in %v, %d here, want shard %d: %v", id, loc, g.ShardOf(id), want, err)
					}
				}
			})
		})
	}
}

func TestAnotherShardFuncIsRefused(t *testing.T) {
	for _, c := range []struct {
		typ, wrong ShardFunc
		want       string
	}{
		{XXHash, Murmur2, `ShardOf is "murmur2" here and "xxhash" with the coordinator`},
		{byTenant("tenant"), byTenant("tenant-2"), `ShardOf is "tenant-2" here and "tenant" with the coordinator`},
		{byTenant("tenant"), ShardFunc{}, `ShardOf is "xxhash" here and "tenant" with the coordinator`},
	} {
		inBubble(t, func(t *testing.T, w *world) {
			typ, wrong := cartType(&cartLog{}), cartType(&cartLog{})
			typ.ShardOf, wrong.ShardOf = c.typ, c.wrong
			demandRefused(t, w, typ, wrong, c.want)
		})
	}
}

// An id at which the function panics belongs to shard 0; the panic is counted, and ends neither the
// caller nor a machine.
func TestShardFuncThatPanics(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.ShardOf = byTenant("tenant")
		g, _ := localRegion(t, typ)
		n, err := Ask(t.Context(), g.Ref("no tenant"), total{})
		if err != nil || n != 0 || g.ShardOf("no tenant") != 0 {
			t.Errorf("%d, %v, in shard %d", n, err, g.ShardOf("no tenant"))
		}
		if n := g.Stats().Panics; n == 0 {
			t.Error("no panic was counted")
		}
	})
}

// What is no function, or has no name to be compared by, is refused.
func TestShardFuncFaults(t *testing.T) {
	of := byTenant("").Of
	for want, f := range map[string]ShardFunc{
		`ShardOf: "tenant" has no function: set Of, or use XXHash or Murmur2`: {Name: "tenant"},
		"ShardOf: has a function and no Name: nodes compare it by that":       {Of: of},
		`ShardOf.Name: "xxhash" is taken: give your function another`:         {Name: "xxhash", Of: of},
		"ShardOf.Name: has 129 bytes or is not UTF-8, want at most 128":       {Name: strings.Repeat("x", 129), Of: of},
	} {
		typ := cartType(&cartLog{})
		typ.ShardOf = f
		if got := fmt.Sprint(typ.Validate()); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, f := range []ShardFunc{{}, XXHash, Murmur2, byTenant("tenant")} {
		typ := cartType(&cartLog{})
		typ.ShardOf = f
		if err := typ.Validate(); err != nil {
			t.Errorf("%q: %v", f.Name, err)
		}
	}
}
