package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/directories"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// place is where ids are kept. open opens it as a program does that has just begun.
type place struct{ open func() remember.Store }

// backend is the data with the ids.
var backend = keyspace.Dataset{Role: "backend", Reserved: true}

func inDirectories(t *testing.T) place {
	t.Helper()
	var tables []durable.Table
	for range 3 {
		table, err := durable.NewMemory().AutoFlush(true).Table(rows.Table(backend))
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, table)
	}
	return place{func() remember.Store {
		s, err := directories.Open("Cart", tables...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

func inJournal(t *testing.T) place {
	t.Helper()
	m := &memory.Store{}
	return place{func() remember.Store {
		s, err := journaled.New(journaled.Config{
			Type: "Cart", Journal: m, Snapshots: m, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}}
}

// ways are the moves that there are.
func ways(t *testing.T, do func(t *testing.T, from, to place)) {
	t.Run("to a journal", func(t *testing.T) { do(t, inDirectories(t), inJournal(t)) })
	t.Run("to directories", func(t *testing.T) { do(t, inJournal(t), inDirectories(t)) })
}

const shards, perShard = 5, 20

func fill(t *testing.T, s remember.Store) {
	t.Helper()
	for shard := range protocol.ShardID(shards) {
		var ids []protocol.EntityID
		for i := range perShard {
			ids = append(ids, protocol.EntityID(fmt.Sprint(shard, "-", i)))
		}
		must(t, s.List(t.Context(), noHosting, []protocol.ShardID{shard}, nil))
		must(t, s.Update(t.Context(), noHosting, shard, ids, nil))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all lists the ids of a store with their shards.
func all(t *testing.T, s remember.Store) (out []string) {
	t.Helper()
	found, err := read(t.Context(), s)
	must(t, err)
	for shard, set := range found {
		for id := range set {
			out = append(out, fmt.Sprint(shard, id))
		}
	}
	slices.Sort(out)
	return out
}

func wantEqual(t *testing.T, from, to place) {
	t.Helper()
	source, target := all(t, from.open()), all(t, to.open())
	if len(source) != shards*perShard || !slices.Equal(source, target) {
		t.Errorf("the source has %d ids, the target %d, want %d", len(source), len(target), shards*perShard)
	}
}

// A copy is whole, a second one changes nothing, and a count changes nothing.
func TestCopy(t *testing.T) {
	const whole = shards * perShard
	ways(t, func(t *testing.T, from, to place) {
		if _, err := Copy(t.Context(), from.open(), to.open(), Options{}); !errors.Is(err, ErrNothing) {
			t.Errorf("of an empty source: %v", err)
		}
		fill(t, from.open())
		for i, want := range []Counts{
			{Shards: shards, IDs: whole, Added: whole}, {Shards: shards, IDs: whole, Added: whole},
			{Shards: shards, IDs: whole, Before: whole},
		} {
			c, err := Copy(t.Context(), from.open(), to.open(), Options{DryRun: i == 0})
			if err != nil || c != want {
				t.Errorf("copy %d: %v, %v; want %v", i, c, err, want)
			}
		}
		wantEqual(t, from, to)
	})
}

// What the target has beside is taken out only if that is asked for.
func TestOthers(t *testing.T) {
	ways(t, func(t *testing.T, from, to place) {
		fill(t, from.open())
		must(t, to.open().List(t.Context(), noHosting, []protocol.ShardID{1, 77}, nil))
		must(t, to.open().Update(t.Context(), noHosting, 1, []protocol.EntityID{"old"}, nil))
		must(t, to.open().Update(t.Context(), noHosting, 77, []protocol.EntityID{"older"}, nil))
		c, err := Copy(t.Context(), from.open(), to.open(), Options{})
		if !errors.Is(err, ErrOthers) || c.Others != 2 || len(all(t, to.open())) != 2 {
			t.Errorf("without Replace: %v, %v", c, err)
		}
		if c, err := Copy(t.Context(), from.open(), to.open(), Options{Replace: true}); err != nil || c.Others != 2 {
			t.Errorf("with Replace: %v, %v", c, err)
		}
		wantEqual(t, from, to)
	})
}

// cut is a store whose program ends with a write: before it, or after it.
type cut struct {
	remember.Store
	left int
	done bool // the last write takes effect
}

var errKilled = errors.New("killed")

func (c *cut) write(do func() error) error {
	if c.left--; c.left > 0 {
		return do()
	}
	if c.left == 0 && c.done {
		_ = do() // no answer comes
	}
	return errKilled
}

func (c *cut) List(ctx context.Context, by singleton.FencingToken, add, remove []protocol.ShardID) error {
	return c.write(func() error { return c.Store.List(ctx, by, add, remove) })
}

func (c *cut) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	return c.write(func() error { return c.Store.Update(ctx, by, shard, add, remove) })
}

// A copy that is cut at any write goes on from there, and the source is whole all the time.
func TestACutCopyGoesOn(t *testing.T) {
	ways(t, func(t *testing.T, from, to place) {
		fill(t, from.open())
		cuts := 0
		for killed := 1; ; killed++ {
			_, err := Copy(t.Context(), from.open(), &cut{to.open(), 1, killed%2 == 0}, Options{})
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if len(all(t, from.open())) != shards*perShard {
				t.Fatal("the source has changed")
			}
			if cuts++; cuts > 100 {
				t.Fatal("it does not get on")
			}
			if killed%2 == 1 { // nothing has taken effect: two writes before the end
				_, _ = Copy(t.Context(), from.open(), &cut{to.open(), 3, true}, Options{})
			}
		}
		if cuts < shards {
			t.Errorf("%d cuts", cuts)
		}
		if _, err := Copy(t.Context(), from.open(), to.open(), Options{}); err != nil {
			t.Error(err)
		}
		wantEqual(t, from, to)
	})
}

// deaf forgets an id that it has acknowledged.
type deaf struct{ remember.Store }

func (d deaf) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, add, remove []protocol.EntityID,
) error {
	if len(add) > 0 {
		add = add[1:]
	}
	return d.Store.Update(ctx, by, shard, add, remove)
}

// A copy that is not what was read is told of.
func TestVerification(t *testing.T) {
	ways(t, func(t *testing.T, from, to place) {
		fill(t, from.open())
		if _, err := Copy(t.Context(), from.open(), deaf{to.open()}, Options{}); !errors.Is(err, ErrDiffers) {
			t.Errorf("of a target that forgets: %v", err)
		}
	})
}
