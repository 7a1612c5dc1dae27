package region

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// table has the places of all shards. Most shards run elsewhere, and this node knows their entries
// only: these are in rows. Those of which it knows more are in active. So a Step that concerns the
// latter costs nothing for the others.
//
// Invariant: a shard in active has an empty row.
type table struct {
	rows    rows
	active  map[protocol.ShardID]*place
	touched []protocol.ShardID                  // of active, in this Step: a row may say all again
	plain   func(protocol.ShardID, *place) bool // whether a row says all of a place
}

func newTable(shards int) table {
	return table{rows: newRows(shards), active: map[protocol.ShardID]*place{}}
}

// known reports whether there is such a shard.
func (t *table) known(s protocol.ShardID) bool { return int64(s) < int64(len(t.rows.of)) }

// change is the place of a shard, which may be changed until the end of the Step.
func (t *table) change(s protocol.ShardID) *place {
	p := t.active[s]
	if p == nil {
		row := t.rows.place(s)
		p = &row
		t.rows.clear(s)
		t.active[s] = p
	}
	t.touched = append(t.touched, s)
	return p
}

// peek is a copy of the place of a shard.
func (t *table) peek(s protocol.ShardID) place {
	if p := t.active[s]; p != nil {
		return *p
	}
	return t.rows.place(s)
}

// visit has fn look at the place of a shard, and change it.
func (t *table) visit(s protocol.ShardID, fn func(protocol.ShardID, *place)) {
	if p := t.active[s]; p != nil {
		t.touched = append(t.touched, s)
		fn(s, p)
		return
	}
	p := t.rows.place(s)
	was := p
	switch fn(s, &p); {
	case !t.plain(s, &p): // also when it has not changed itself: what visits all has
		kept := p
		t.rows.clear(s)
		t.active[s] = &kept
	case p != was:
		t.rows.put(s, &p)
	}
}

// visitKnown visits all shards of which anything is known, in order. Nothing that may happen to all shards changes one
// of the others: it has no home, and its route leads nowhere. A type that starts has only such.
func (t *table) visitKnown(fn func(protocol.ShardID, *place)) {
	active := slices.Sorted(maps.Keys(t.active))
	for i := range t.rows.of {
		s := protocol.ShardID(i)
		more := len(active) > 0 && active[0] == s
		if more {
			active = active[1:]
		}
		if more || !t.rows.empty(s) {
			t.visit(s, fn)
		}
	}
}

// visitActive visits those shards of which more is known than their entry, in order.
func (t *table) visitActive(fn func(protocol.ShardID, *place)) {
	for _, s := range slices.Sorted(maps.Keys(t.active)) {
		t.visit(s, fn)
	}
}

// settle ends a Step: what a row can say is there again.
func (t *table) settle() {
	for _, s := range t.touched {
		if p := t.active[s]; p != nil && t.plain(s, p) {
			t.rows.put(s, p)
			delete(t.active, s)
		}
	}
	t.touched = t.touched[:0]
}

// asks reports whether messages for a shard wait for a home.
func (t *table) asks(s protocol.ShardID) bool {
	p := t.active[s]
	return p != nil && p.asks()
}
