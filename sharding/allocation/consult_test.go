package allocation

import (
	"slices"
	"testing"
	"time"
)

// odd is a strategy of a user's.
type odd struct {
	home  UID
	not   bool
	panic string
	moves []ShardID
	saw   []int
}

func (o *odd) Allocate(_ UID, s ShardID, a *Allocations) (UID, bool) {
	if o.panic != "" {
		panic(o.panic)
	}
	o.saw = append(o.saw, len(a.ShardsOf(a.Regions[0].UID)))
	return o.home, !o.not
}

func (o *odd) Rebalance(*Allocations, []ShardID) []ShardID {
	if o.panic != "" {
		panic(o.panic)
	}
	return o.moves
}

func TestIsolated(t *testing.T) {
	for _, s := range []Strategy{LeastShard{}, Threshold{}, ConsistentHashing{}, External{}, LoadAware{}} {
		if Isolated(s) {
			t.Errorf("%T is called beside the coordinator", s)
		}
	}
	for _, s := range []Strategy{&odd{}, struct{ LeastShard }{}} {
		if !Isolated(s) {
			t.Errorf("%T is called by the coordinator", s)
		}
	}
}

// TestConsultation: what a strategy does wrong is a failure, and the default answers; each choice is
// seen by the next.
func TestConsultation(t *testing.T) {
	two := []Request{{Shard: 7}, {Shard: 8}}
	for _, tc := range []struct {
		name     string
		s        *odd
		homes    []Choice
		failures []Failure
	}{
		{"well-behaved", &odd{home: 1}, []Choice{{7, 1}, {8, 1}}, nil},
		{"not now", &odd{not: true}, []Choice{{7, 0}, {8, 0}}, nil},
		{"a stranger", &odd{home: 9}, []Choice{{7, 2}, {8, 1}}, []Failure{{Shard: 7, Home: 9}, {Shard: 8, Home: 9}}},
		{"one that leaves", &odd{home: 3}, []Choice{{7, 2}, {8, 1}},
			[]Failure{{Shard: 7, Home: 3}, {Shard: 8, Home: 3}}},
		{"a panic", &odd{panic: "boom"}, []Choice{{7, 2}, {8, 1}},
			[]Failure{{Shard: 7, Panic: "boom"}, {Shard: 8, Panic: "boom"}}},
	} {
		w := sizes(2, 1, 0)
		w.regions[2].Leaving = true
		w.shards = 9
		q := Consultation{ID: 5, Requests: two, Allocations: w.allocations().Copy(Needs{})}
		got := q.Ask(tc.s)
		if got.ID != 5 || !slices.Equal(got.Homes, tc.homes) || !slices.Equal(got.Failures, tc.failures) {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if tc.name == "well-behaved" && !slices.Equal(tc.s.saw, []int{2, 3}) {
			t.Errorf("it saw %v shards on the first region", tc.s.saw)
		}
	}
	q := Consultation{Rebalance: true, Allocations: sizes(4, 0).allocations().Copy(Needs{})}
	if got := q.Ask(&odd{panic: "boom"}); len(got.Moves) != 0 || len(got.Failures) != 1 {
		t.Errorf("a panic moved something: %+v", got)
	}
	if got := q.Ask(&odd{moves: []ShardID{3, 99}}); !slices.Equal(got.Moves, []ShardID{3, 99}) {
		t.Errorf("%+v", got)
	}
}

// TestCopy: a copy has what is needed, and what is done to it is done to it alone.
func TestCopy(t *testing.T) {
	w := sizes(2, 1)
	w.loads[1], w.moved[1], w.locations[1] = busy(5), time.Unix(9, 0), "a:1"
	a := w.allocations()
	c := a.Copy(Needs{Loads: true, Locations: true})
	c.Add(2, 0)
	c.Regions[0].Leaving = true
	if a.Regions[1].Count != 1 || a.Regions[0].Leaving || len(w.of[2]) != 1 {
		t.Error("the copy is not one")
	}
	l, ok := c.Load(1)
	if !ok || l != busy(5) || !c.MovedAt(1).Equal(time.Unix(9, 0)) || c.Location(1) != "a:1" ||
		!slices.Equal(c.ShardsOf(2), []ShardID{2, 0}) {
		t.Error("something is missing in the copy")
	}
	if b := a.Copy(Needs{}); b.Location(1) != "" || !b.MovedAt(1).IsZero() {
		t.Error("the copy holds what was not asked for")
	}
}

func TestValidate(t *testing.T) {
	for _, s := range []interface{ Validate() error }{
		LeastShard{RebalanceAbsoluteLimit: -1}, LeastShard{RebalanceRelativeLimit: 1.1},
		LeastShard{RebalanceRelativeLimit: -0.1},
		Threshold{RebalanceThreshold: -1}, Threshold{MaxSimultaneousRebalance: -1},
		ConsistentHashing{VirtualNodes: -1}, ConsistentHashing{VirtualNodes: 10_001}, ConsistentHashing{LoadBound: 0.9},
		ConsistentHashing{RebalanceLimit: -1},
		LoadAware{Tolerance: 2}, LoadAware{EntityWeight: -1}, LoadAware{RebalanceAbsoluteLimit: -1},
		LoadAware{RebalanceRelativeLimit: 2},
		LoadAware{LoadHalfLife: -1},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	for _, s := range []interface{ Validate() error }{
		LeastShard{}, Threshold{}, ConsistentHashing{}, LoadAware{}, LoadAware{RestAfterMove: -1},
	} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

type named struct{ LeastShard }

func (named) Name() string { return "mine" }

// A strategy goes by its name, else by its type. One that embeds another has a name of its own.
func TestNameOf(t *testing.T) {
	type embeds struct{ LeastShard }
	for want, s := range map[string]Strategy{
		"allocation.LeastShard": LeastShard{RebalanceAbsoluteLimit: 3}, "allocation.LoadAware": LoadAware{},
		"allocation.odd": &odd{}, "mine": named{}, "allocation.embeds": embeds{},
	} {
		if got := NameOf(s); got != want {
			t.Errorf("%T is called %q, not %q", s, got, want)
		}
	}
}
