package main

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
	"github.com/coterie-go/coterie/sharding/allocation"
)

func TestStrategy(t *testing.T) {
	localtest.Prints(t, run, "of 100 entities 0 are on the oldest node, and 100 on the others")
}

// shards are all that a strategy of this kind wants to know.
type shards struct {
	allocation.Facts
	of map[allocation.UID][]allocation.ShardID
}

func (s shards) ShardsOf(u allocation.UID) []allocation.ShardID { return s.of[u] }

// The oldest region gives its shards to others, if there are any that stay.
func TestRebalance(t *testing.T) {
	var twelve []allocation.ShardID
	for s := range allocation.ShardID(12) {
		twelve = append(twelve, s)
	}
	oldest := allocation.Region{UID: 7, UpNumber: 1, Count: len(twelve)}
	another := allocation.Region{UID: 5, UpNumber: 2, Count: 1}
	leaving := allocation.Region{UID: 6, UpNumber: 3, Leaving: true}
	for _, c := range []struct {
		name       string
		regions    []allocation.Region
		inProgress []allocation.ShardID
		home       allocation.UID
		move       []allocation.ShardID
	}{
		{"others are there", []allocation.Region{oldest, another, leaving}, nil, 5, twelve[:10]},
		{"others are there, and shards move", []allocation.Region{oldest, another}, twelve[:2], 5, nil},
		{"others are leaving", []allocation.Region{oldest, leaving}, nil, 7, nil},
		{"the oldest is leaving", []allocation.Region{another, leaving}, nil, 5, nil},
		{"all are leaving", []allocation.Region{leaving}, nil, 0, nil},
	} {
		a := allocation.New(c.regions, 20, shards{of: map[allocation.UID][]allocation.ShardID{7: twelve, 6: {19}}})
		home, found := SpareOldest{}.Allocate(7, 13, a)
		if home != c.home || found != (c.home != 0) {
			t.Errorf("%s: the home is %d, %t, want %d", c.name, home, found, c.home)
		}
		if move := (SpareOldest{}).Rebalance(a, c.inProgress); !slices.Equal(move, c.move) {
			t.Errorf("%s: it moves %v, want %v", c.name, move, c.move)
		}
	}
}
