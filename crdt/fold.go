package crdt

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// A GCounter, a PNCounter and each key of a PNCounterMap cost one item per origin that ever counted, and origins come
// and go. Folding brings those of retired ones down to two: one of their counts stays, the anchor, and beside it, at
// its path, a folded count takes the place of the others. It is told from the anchor by its dot, which is not of the
// origin that the path names, and counts only while the anchor lives. Counters in an ORMap are not folded: their
// paths do not tell where a key of the map ends.
//
// The anchor is there for deletes. A delete removes what it has observed, so that it would miss a folded count that
// was made at the same time, and give back what it took. But it has observed the anchor, if the folding replica makes
// sure of that first. Without the anchor the folded count is hidden, and Sweep removes it.

// originBytes is the length of an origin in a path.
const originBytes = 8

// countPath takes the path of a count apart: where the counter begins, and whose count stands
// there; ok is false for other paths.
func countPath(path string) (place string, o Origin, ok bool) {
	n := len(path) - originBytes
	switch kindOf(path) {
	case KindGCounter, KindPNCounter:
		ok = n == 1
	case KindPNCounterMap:
		ok = n > 1
	}
	if !ok {
		return "", 0, false
	}
	return path[:n], Origin(binary.BigEndian.Uint64([]byte(path[n:]))), true
}

// isFold reports whether it is a folded count.
func isFold(it *Item) bool {
	_, o, ok := countPath(it.Path)
	return ok && o != it.Dot.Origin
}

// anchored reports whether the anchor of the folded counts at a path lives.
func (k *keyState) anchored(path string) bool {
	_, o, _ := countPath(path)
	return slices.ContainsFunc(k.at(path), func(it *Item) bool { return it.Dot.Origin == o })
}

// FoldOf folds, at the counters to which a retired origin has contributed, what it and all other
// retired ones have counted. It looks at most at so many live items of the origin, from a seq on,
// and returns the groups and where to go on; next is 0 when it came to the end. The values do not
// change, at no replica and at no time, provided that the caller has made sure of this:
//
//   - No replica will ever apply an event of a retired origin that this store has not applied. Else
//     what was folded counts twice.
//   - known(d) is true only if every replica had applied d by some moment, and this store has
//     applied all that each had applied by that moment. Then a replica that deletes the counter
//     without our knowledge has seen the anchor and all that we fold.
//   - No other replica folds, or only one of whose folds this store knows all that any replica has.
func (r *Replica) FoldOf(o Origin, from uint64, most int, retired func(Origin) bool, known func(Dot) bool,
	ch *Changes) (gs []Group, next uint64, err error) {
	var found []*Item
	r.st.live.index.Ascend(Range{Origin: o, First: max(from, 1), Last: math.MaxUint64}, func(it *Item) bool {
		if most--; most < 0 {
			next = it.Dot.Seq
			return false
		}
		if _, _, ok := countPath(it.Path); ok && !isFold(it) {
			found = append(found, it)
		}
		return true
	})
	slices.SortFunc(found, func(a, b *Item) int {
		if a.Key != b.Key {
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Compare(a.Path, b.Path)
	})
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].Key == found[0].Key {
			n++
		}
		g, err := r.foldKey(found[:n], retired, known, ch)
		if err != nil {
			return gs, 0, err
		}
		if g != nil {
			gs = append(gs, g)
		}
		found = found[n:]
	}
	return gs, next, nil
}

// foldKey folds at the counters of one key in which these items stand.
func (r *Replica) foldKey(items []*Item, retired func(Origin) bool, known func(Dot) bool, ch *Changes) (Group, error) {
	key := items[0].Key
	if r.st.live.keys.get(key).marks().isDeleted() {
		return nil, nil
	}
	return r.Update(key, 0, func(tx *Tx) error {
		last := ""
		for _, it := range items {
			place, _, _ := countPath(it.Path)
			if place == last {
				continue // an earlier sibling
			}
			last = place
			if err := tx.fold(place, retired, known); err != nil {
				return err
			}
		}
		return nil
	}, ch)
}

// fold folds at one counter, if that saves anything.
func (t *Tx) fold(place string, retired func(Origin) bool, known func(Dot) bool) error {
	var counts, folds []*Item
	for it := range t.Reader().Items(place) {
		switch _, o, _ := countPath(it.Path); {
		case len(it.Path) != len(place)+originBytes || o == it.Dot.Origin && !retired(o):
			continue
		case !known(it.Dot):
			return nil // later
		case o == it.Dot.Origin:
			counts = append(counts, it)
		default:
			folds = append(folds, it)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	anchor := counts[0].Path
	if len(folds) > 0 {
		anchor = folds[0].Path
	}
	var sum wide
	var removes []Dot
	for _, it := range append(counts, folds...) {
		if it.Path == anchor && !isFold(it) {
			continue
		}
		n, ok := decodeAny(it)
		if !ok || len(removes) == RemovesMax {
			return nil
		}
		sum = sum.plus(n)
		removes = append(removes, it.Dot)
	}
	payload, ok := encodeAny(kindOf(place), sum)
	if len(removes) < 2 || !ok {
		return nil // one item would take the place of one, or the sum is out of range
	}
	return t.Put(anchor, payload, removes)
}

// decodeAny returns the count that an item of either kind of counter holds.
func decodeAny(it *Item) (wide, bool) {
	if kindOf(it.Path) == KindGCounter {
		n, ok := decodeCount(it.Payload)
		return wide{0, n}, ok
	}
	n, ok := decodeBalance(it.Payload)
	return wideOf(n), ok
}

// encodeAny is the inverse of decodeAny; ok is false when the kind cannot hold the sum.
func encodeAny(k Kind, sum wide) (payload string, ok bool) {
	if k == KindGCounter {
		return string(appendCount(nil, sum.low)), sum.high == 0
	}
	n, ok := sum.narrow()
	return encodeBalance(n), ok
}

// Authors returns the origins of which an item lives, in order.
func (s *Store) Authors() []Origin {
	var all []Origin
	for o := range s.live.index.Origins(0) {
		all = append(all, o)
	}
	return all
}
