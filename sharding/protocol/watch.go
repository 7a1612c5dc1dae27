package protocol

import (
	"encoding/binary"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// TableWatch turns successive values of the table of homes into inputs that hold only what changed.
// It costs as much as what differs, and decodes only what is new. It belongs to one subscription of
// one driver.
type TableWatch struct {
	seen crdt.Reader // the value before
}

// Changed returns what differs from the value before. The slice is the caller's.
func (w *TableWatch) Changed(v crdt.Reader) []Entry {
	m, err := HomesMap{}.View(v)
	if err != nil {
		return nil
	}
	before := w.seen
	w.seen = v
	var out []Entry
	last := ShardID(ShardsMax)
	for it := range crdt.Diff(before, v) {
		s, ok := shardAt(it)
		if !ok || s == last { // siblings follow each other
			continue
		}
		last = s
		if u, ts, ok := m.At(s); ok {
			out = append(out, Entry{Shard: s, Home: u, Token: tokenOf(ts)})
		}
	}
	return out
}

// shardAt reads the shard from the path of a table entry: the kind, then eight bytes.
func shardAt(it *crdt.Item) (ShardID, bool) {
	if len(it.Path) != 9 || crdt.Kind(it.Path[0]) != crdt.KindLWWMap {
		return 0, false
	}
	n := binary.BigEndian.Uint64([]byte(it.Path[1:]))
	return ShardID(n), n < ShardsMax
}

// DiffIDs makes the Shard's input from two values of the set of its ids. It costs as much as what
// differs.
func DiffIDs(before, now crdt.Reader) IDsChanged {
	var in IDsChanged
	for it, put := range crdt.Diff(before, now) {
		id, ok := idAt(it)
		switch {
		case !ok:
		case put && !before.Has(it.Path) && !endsWith(in.Added, id):
			in.Added = append(in.Added, id)
		case !put && !now.Has(it.Path) && !endsWith(in.Removed, id):
			in.Removed = append(in.Removed, id)
		}
	}
	return in
}

// DiffShards says which shards appeared in and vanished from the set of those with remembered ids.
// It costs as much as what differs.
func DiffShards(before, now crdt.Reader) (added, removed []ShardID) {
	for it, put := range crdt.Diff(before, now) {
		if len(it.Path) != 9 || crdt.Kind(it.Path[0]) != crdt.KindORSet {
			continue
		}
		n := ShardID(binary.BigEndian.Uint64([]byte(it.Path[1:])))
		switch {
		// siblings follow each other
		case put && !before.Has(it.Path) && !slices.Contains(added[max(0, len(added)-1):], n):
			added = append(added, n)
		case !put && !now.Has(it.Path) && !slices.Contains(removed[max(0, len(removed)-1):], n):
			removed = append(removed, n)
		}
	}
	return added, removed
}

// endsWith reports whether an id has just been noted: siblings follow each other.
func endsWith(ids []EntityID, id EntityID) bool { return len(ids) > 0 && ids[len(ids)-1] == id }

func idAt(it *crdt.Item) (EntityID, bool) {
	if len(it.Path) < 2 || crdt.Kind(it.Path[0]) != crdt.KindORSet {
		return "", false
	}
	return EntityID(it.Path[1:]), true
}

// DiffLocations makes the Coordinator's input from two values of the locations. It costs as much as
// what differs.
func DiffLocations(before, now crdt.Reader) LocationsChanged {
	var in LocationsChanged
	m, err := LocationsMap{}.View(now)
	if err != nil {
		return in
	}
	last := ShardID(ShardsMax)
	for it := range crdt.Diff(before, now) {
		s, ok := shardAt(it)
		if !ok || s == last { // siblings follow each other
			continue
		}
		last = s
		if addr, ok := m.Get(s); ok {
			in.Put = append(in.Put, Location{s, addr})
		} else {
			in.Removed = append(in.Removed, s)
		}
	}
	return in
}
