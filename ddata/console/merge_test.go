package console

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/console/api"
)

// The word of the node that hosts a shard counts, then that of the node that is asked.
func TestMerge(t *testing.T) {
	list := func(all ...api.Shard) api.Shards { return api.Shards{Total: 3, Shards: all} }
	moving := &api.Moving{Phase: "stopping"}
	x, ok := merge("b", []nodeShards{
		{"a", list(api.Shard{Shard: 0, Node: "a", Active: 4}, api.Shard{Shard: 1, Node: "c"}, api.Shard{Shard: 2,
			Buffered: 2})},
		{"c", list(api.Shard{Shard: 1, Moving: moving})},
		{"b", list(api.Shard{Shard: 0, Node: "c"}, api.Shard{Shard: 1}, api.Shard{Shard: 2, Buffered: 1})},
	})
	want := []api.Shard{{Shard: 0, Node: "a", Active: 4}, {Shard: 1, Node: "c", Moving: moving},
		{Shard: 2, Buffered: 3}}
	if !ok || len(x.Shards) != 3 {
		t.Fatalf("%+v", x)
	}
	for i, s := range x.Shards {
		if s != want[i] {
			t.Errorf("%+v, want %+v", s, want[i])
		}
	}
	if x, ok := merge("a", nil); ok || x.Shards == nil {
		t.Errorf("%+v", x)
	}
}
