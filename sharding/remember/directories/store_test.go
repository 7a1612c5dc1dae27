package directories

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/remembertest"
)

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// backend is the data with the ids.
var backend = keyspace.Dataset{Role: "backend", Reserved: true}

// role is the table of a role in a new directory.
func role(t testing.TB) durable.Table {
	t.Helper()
	table, err := durable.NewMemory().AutoFlush(true).Table(rows.Table(backend))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func open(t testing.TB, tables ...durable.Table) *Store {
	t.Helper()
	s, err := Open("Cart", tables...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func update(t testing.TB, s *Store, add, remove []protocol.EntityID) {
	t.Helper()
	if err := s.Update(t.Context(), tool, 3, add, remove); err != nil {
		t.Fatal(err)
	}
}

func wantIDs(t *testing.T, s *Store, want ...protocol.EntityID) {
	t.Helper()
	got, err := s.Load(t.Context(), tool, 3)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the ids are %q, %v; want %q", got, err, want)
	}
}

func TestLaws(t *testing.T) {
	remembertest.Run(t, func(t testing.TB) (a, b remember.Store) {
		s := open(t, role(t), role(t))
		return s, s
	})
}

// What was written is in each table, which a node would accept, and what was removed from one is gone
// although another one has it.
func TestTablesAreJoined(t *testing.T) {
	a, b := role(t), role(t)
	update(t, open(t, a, b), []protocol.EntityID{"x", "y", "z"}, nil)
	for _, one := range []durable.Table{a, b} {
		wantIDs(t, open(t, one), "x", "y", "z")
		if s, err := rows.Verify(one); err != nil || s.Items != 3 {
			t.Errorf("the table has %d items, %v", s.Items, err)
		}
	}
	// One node goes on alone, and hears of what the other one has by a copy.
	first := open(t, a)
	joinInto(t, first, open(t, b))
	update(t, first, []protocol.EntityID{"new"}, []protocol.EntityID{"y"})
	wantIDs(t, open(t, b), "x", "y", "z")
	both := open(t, a, b)
	wantIDs(t, both, "new", "x", "z")
	if shards, err := both.Shards(t.Context(), tool); err != nil || !slices.Equal(shards, []protocol.ShardID{3}) {
		t.Errorf("the shards are %v, %v", shards, err)
	}
	if _, err := Open("Cart"); err == nil {
		t.Error("no directory is enough")
	}
}

// joinInto has a replica hear of all that another one has, as nodes do.
func joinInto(t *testing.T, to, from *Store) {
	t.Helper()
	donor := from.tables[0].replica.Store().Snapshot()
	var items []crdt.Item
	for it := range donor.Items() {
		items = append(items, *it)
	}
	var ch crdt.Changes
	if err := to.tables[0].replica.Merge(donor.Clock(), donor.Live, items, &ch); err != nil {
		t.Fatal(err)
	}
	if err := to.tables[0].commit(ch); err != nil {
		t.Fatal(err)
	}
}
