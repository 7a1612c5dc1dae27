package protocol

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// replica carries writes out on a store of its own.
type replica struct {
	t *testing.T
	r *crdt.Replica
}

func newReplica(t *testing.T, origin crdt.Origin) *replica {
	return &replica{t: t, r: crdt.NewReplica(origin, crdt.StoreOptions{})}
}

func (r *replica) write(w StateWrite) (crdt.Group, *crdt.Changes) {
	r.t.Helper()
	ch := &crdt.Changes{}
	g, err := r.r.Update(w.Key("t"), 1, w.Mutate, ch)
	if err != nil {
		r.t.Fatalf("%v: %v", w, err)
	}
	return g, ch
}

func (r *replica) view(k StateKind, s ShardID) crdt.Reader {
	return r.r.Store().View(StateKey("t", k, s))
}
func (r *replica) read(k StateKind, s ShardID) DidRead {
	return StateRead{ID: 1, Kind: k, Shard: s}.Result(r.view(k, s), nil)
}

func TestStateRoundTrip(t *testing.T) {
	r := newReplica(t, 1)
	r.write(StateWrite{Kind: StateHomes, Homes: []Entry{{5, 77, Token{1, 2, 3}}, {1, 78, Token{1, 2, 4}}}})
	if got, want := r.read(StateHomes, 0).Homes,
		[]Entry{{1, 78, Token{1, 2, 4}}, {5, 77, Token{1, 2, 3}}}; !slices.Equal(got, want) {
		t.Errorf("homes %v, want %v", got, want)
	}
	r.write(StateWrite{Kind: StateRegions, AddRegions: []UID{9, 3, 5}, RemoveRegions: []UID{3, 4}})
	if got := r.read(StateRegions, 0).Regions; !slices.Equal(got, []UID{5, 9}) {
		t.Errorf("regions %v", got)
	}
	r.write(StateWrite{Kind: StateRemembered, AddShards: []ShardID{4, 2}})
	r.write(StateWrite{Kind: StateRemembered, RemoveShards: []ShardID{4}})
	if got := r.read(StateRemembered, 0).Shards; !slices.Equal(got, []ShardID{2}) {
		t.Errorf("remembered shards %v", got)
	}
	r.write(StateWrite{Kind: StateIDs, Shard: 2, AddIDs: []EntityID{"b", "a", "c"}})
	r.write(StateWrite{Kind: StateIDs, Shard: 2, RemoveIDs: []EntityID{"b"}, AddIDs: []EntityID{"d"}})
	if got := r.read(StateIDs, 2).IDs; !slices.Equal(got, []EntityID{"a", "c", "d"}) {
		t.Errorf("ids %v", got)
	}
	if got := r.read(StateIDs, 3).IDs; len(got) != 0 {
		t.Errorf("ids of another shard %v", got)
	}
}

// TestStateTokensDecide: whatever the order of arrival, the entry with the higher token is read.
func TestStateTokensDecide(t *testing.T) {
	old, young := Token{3, 9, 100}, Token{4, 1, 1}
	a, b := newReplica(t, 1), newReplica(t, 2)
	ga, _ := a.write(StateWrite{Kind: StateHomes, Homes: []Entry{{1, 7, young}}})
	gb, _ := b.write(StateWrite{Kind: StateHomes, Homes: []Entry{{1, 8, old}}})
	if _, err := a.r.Apply(gb, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.r.Apply(ga, nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*replica{a, b} {
		if got := r.read(StateHomes, 0).Homes; !slices.Equal(got, []Entry{{1, 7, young}}) {
			t.Errorf("homes %v", got)
		}
	}
}

func TestStateReadError(t *testing.T) {
	bad := errors.New("no")
	if in := (StateRead{ID: 4, Kind: StateHomes}).Result(crdt.Reader{}, bad); in.ID != 4 || !errors.Is(in.Err, bad) {
		t.Errorf("%+v", in)
	}
	r := newReplica(t, 1)
	r.write(StateWrite{Kind: StateIDs, Shard: 1, AddIDs: []EntityID{"x"}})
	if in := (StateRead{ID: 4, Kind: StateHomes}).Result(r.view(StateIDs, 1),
		nil); !errors.Is(in.Err, crdt.ErrTypeClash) {
		t.Errorf("a set read as the table: %+v", in)
	}
}

func TestStateKeys(t *testing.T) {
	for k, want := range map[StateKind]string{
		StateHomes: "sharding/cart/homes", StateRegions: "sharding/cart/regions",
		StateRemembered: "sharding/cart/ids/shards", StateIDs: "sharding/cart/ids/12",
	} {
		if got := StateKey("cart", k, 12); got != want {
			t.Errorf("key %q, want %q", got, want)
		}
		durable := strings.HasPrefix(StateKey("cart", k, 12), DurablePrefix("cart"))
		if durable != (k == StateRemembered || k == StateIDs) {
			t.Errorf("%q durable: %v", want, durable)
		}
	}
}

func TestTableWatch(t *testing.T) {
	r := newReplica(t, 1)
	var w TableWatch
	step := func(want ...Entry) {
		t.Helper()
		if got := w.Changed(r.view(StateHomes, 0)); !slices.Equal(got, want) {
			t.Errorf("changed %v, want %v", got, want)
		}
	}
	step()
	e0, e9 := Entry{0, 1, Token{1, 1, 1}}, Entry{9, 2, Token{1, 1, 2}}
	r.write(StateWrite{Kind: StateHomes, Homes: []Entry{e0, e9}})
	step(e0, e9)
	step()
	e0 = Entry{0, 3, Token{1, 1, 3}}
	r.write(StateWrite{Kind: StateHomes, Homes: []Entry{e0}})
	step(e0)
}

// TestTableWatchCost: what one change of the table costs does not grow with the table.
func TestTableWatchCost(t *testing.T) {
	cost := func(shards ShardID) time.Duration {
		r, all := newReplica(t, 1), make([]Entry, shards)
		for s := range all {
			all[s] = Entry{ShardID(s), 1, Token{1, 1, 1}}
		}
		for part := range slices.Chunk(all, BatchMax) {
			r.write(StateWrite{Kind: StateHomes, Homes: part})
		}
		var w TableWatch
		w.Changed(r.view(StateHomes, 0))
		least := time.Hour
		for i := range 100 {
			r.write(StateWrite{Kind: StateHomes, Homes: []Entry{{ShardID(i), 2, Token{1, 1, 2}}}})
			v, began := r.view(StateHomes, 0), time.Now()
			if got := w.Changed(v); len(got) != 1 {
				t.Fatalf("changed %v", got)
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	few, many := cost(1000), cost(100_000)
	if many > 10*few {
		t.Errorf("%v for a change among 1,000 shards, %v among 100,000", few, many)
	}
}

func TestDiffIDs(t *testing.T) {
	r := newReplica(t, 1)
	before := r.view(StateIDs, 1)
	check := func(name string, got IDsChanged, added, removed []EntityID) {
		t.Helper()
		if !reflect.DeepEqual(got, IDsChanged{Added: added, Removed: removed}) {
			t.Errorf("%s: %+v, want +%v -%v", name, got, added, removed)
		}
	}
	r.write(StateWrite{Kind: StateIDs, Shard: 1, AddIDs: []EntityID{"a", "b"}})
	now := r.view(StateIDs, 1)
	check("first", DiffIDs(before, now), []EntityID{"a", "b"}, nil)
	before = now
	r.write(StateWrite{Kind: StateIDs, Shard: 1, AddIDs: []EntityID{"a", "c"}, RemoveIDs: []EntityID{"b"}})
	now = r.view(StateIDs, 1)
	check("second", DiffIDs(before, now), []EntityID{"c"}, []EntityID{"b"})
	check("same", DiffIDs(now, now), nil, nil)
}

// TestRepeatedWritePutsLittle: a write that was not answered in time costs one event when it is
// repeated, as far as it has happened here. What another replica has put is put again, for only own
// events are waited for, and so is what has been removed since.
func TestRepeatedWritePutsLittle(t *testing.T) {
	r, other := newReplica(t, 1), newReplica(t, 2)
	ids := func(name string, n int) (ids []EntityID) {
		for i := range n {
			ids = append(ids, EntityID(fmt.Sprint(name, i)))
		}
		return ids
	}
	mine, theirs, removed := ids("mine", 5), ids("theirs", 3), ids("removed", 2)
	exchange := func(g crdt.Group, to *replica) {
		t.Helper()
		if _, err := to.r.Apply(g, nil); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := r.write(StateWrite{Kind: StateIDs, AddIDs: slices.Concat(mine, removed)})
	exchange(g, other)
	g, _ = other.write(StateWrite{Kind: StateIDs, AddIDs: theirs, RemoveIDs: removed})
	exchange(g, r)
	for i, c := range []struct {
		add    []EntityID
		failed uint
		events int
	}{
		{mine, 1, 1},
		{slices.Concat(mine, theirs), 2, 1 + 3},
		{slices.Concat(mine, theirs), 3, 1},
		{slices.Concat(mine, removed), 1, 1 + 2},
		{slices.Concat(mine, theirs, removed), 0, 5 + 3 + 2},
	} {
		if g, _ = r.write(StateWrite{Kind: StateIDs, AddIDs: c.add, Failed: c.failed}); len(g) != c.events {
			t.Errorf("write %d makes %d events, want %d: %v", i, len(g), c.events, g)
		}
	}
	if got := r.read(StateIDs, 0).IDs; !slices.Equal(got, slices.Concat(mine, removed, theirs)) {
		t.Errorf("ids %v", got)
	}
}

func TestTokenOrder(t *testing.T) {
	order := []Token{{}, {1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {1, UpMax, SeqMax}, {2, 1, 1}}
	for i, x := range order {
		for j, y := range order {
			hx, hy := x.timestamp(), y.timestamp()
			below := hx.High < hy.High || hx.High == hy.High && hx.Low < hy.Low
			if x.Less(y) != (i < j) || below != (i < j) {
				t.Errorf("%v and %v", x, y)
			}
		}
		if tokenOf(x.timestamp()) != x {
			t.Errorf("%v does not survive its timestamp", x)
		}
	}
}

// TestShardOf pins the hash: a change would move every entity.
func TestShardOf(t *testing.T) {
	// xxHash64: 0xef46db3751d8e999 for "", 0xd24ec4f1a98c6e5b for "a"
	for id, want := range map[EntityID]ShardID{"": 21, "a": 55, "cart-42": 67, "äöü": 9} {
		if got := ShardOf(id, 100); want != got {
			t.Errorf("%v is in shard %d, want %d", id, got, want)
		}
	}
	counts := make([]int, 16)
	for i := range 16_000 {
		counts[ShardOf(EntityID(fmt.Sprint("user-", i)), 16)]++
	}
	if lo, hi := slices.Min(counts), slices.Max(counts); lo < 850 || hi > 1150 {
		t.Errorf("uneven: %v", counts)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := (Config{Identity: Identity{Name: "t", Shards: 10}, Self: 1}).Validate(); err != nil {
		t.Errorf("a minimal config: %v", err)
	}
	err := Config{
		Identity:     Identity{Name: "a/b", Shards: ShardsMax + 1},
		Coordination: Coordination[bool]{MinRegions: -1}, HandOff: HandOff{
			FinishTimeout: time.Second, BeginTimeout: time.Millisecond,
		},
		Remember: Remember[StoreID]{Recovery: Recovery{Number: -1}},
	}.Validate()
	for _, part := range []string{
		"Name", "Self", "Shards", "Coordination.MinRegions", "HandOff.FinishTimeout", "HandOff.BeginTimeout",
		"Remember.Recovery.Number",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not among the faults: %v", part, err)
		}
	}
	if !errors.Is(err, ErrConfig) {
		t.Errorf("%v is no ErrConfig", err)
	}
}
