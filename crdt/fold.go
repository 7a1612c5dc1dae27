package crdt

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// A GCounter or PNCounter costs one item per origin that ever counted, and origins come and go. Fold brings those of retired ones down to
// two: one of their counts stays, the anchor, and one folded count takes the place of the others. The folded count stands at the anchor's
// path ‖ the anchor's seq in eight bytes, and counts only while the anchor lives. Counters in maps are not folded.
//
// The anchor is there for deletes. A delete removes what it has observed, so that it would miss a folded count that was made at the same
// time, and give back what it took. But it has observed the anchor, if whoever folds makes sure of that first; without it the folded
// count is nothing, and Sweep removes it.

// originBytes is the length of an origin in a path, and of a seq.
const originBytes = 8

// count is a counter's item, taken apart.
type count struct {
	place  string // the path up to where origins begin
	origin Origin
	anchor uint64 // of a folded count: the seq of the anchor, whose origin is origin; else 0
}

// countOf takes the path of a counter's item apart; ok is false for paths of other kinds.
func countOf(path string) (c count, ok bool) {
	if k := kindOf(path); k != KindGCounter && k != KindPNCounter {
		return c, false
	}
	c.place, path = path[:1], path[1:]
	switch len(path) {
	case 2 * originBytes:
		c.anchor = wordAt(path, originBytes)
	case originBytes:
	default:
		return c, false
	}
	c.origin = Origin(wordAt(path, 0))
	return c, len(path) == originBytes || c.anchor != 0
}

func wordAt(s string, i int) (w uint64) {
	for _, b := range []byte(s[i : i+8]) {
		w = w<<8 | uint64(b)
	}
	return w
}

// isFold reports whether a path is that of a folded count.
func isFold(path string) bool {
	c, ok := countOf(path)
	return ok && c.anchor != 0
}

// orphan reports whether the anchor of a folded count is gone.
func (k *keyState) orphan(fold *Item) bool {
	c, _ := countOf(fold.Path)
	for _, it := range k.at(fold.Path[:len(fold.Path)-originBytes]) {
		if it.Dot == (Dot{c.origin, c.anchor}) {
			return false
		}
	}
	return true
}

// anchors reports whether a folded count of the key was anchored to it, which is gone.
func (k *keyState) anchors(it *Item) bool {
	if k.marks == nil || k.marks.folds == 0 {
		return false
	}
	if c, ok := countOf(it.Path); !ok || c.anchor != 0 || c.origin != it.Dot.Origin {
		return false
	}
	return len(k.at(foldPath(it))) > 0
}

// foldPath returns where the count stands that is anchored to it.
func foldPath(anchor *Item) string {
	return string(binary.BigEndian.AppendUint64([]byte(anchor.Path), anchor.Dot.Seq))
}

// Fold folds, at each counter of the key, what retired origins have counted; it returns the group, nil when nothing would be saved. The value
// does not change, at no replica and at no time, provided that the caller has made sure of this:
//
//   - No replica will ever apply an event of a retired origin that this store has not applied. Else what was folded counts twice.
//   - known(d) is true only if every replica had applied d by some moment, and this store has applied all that each had applied by that moment. Then
//     whoever deletes the counter without our knowledge has seen the anchor and all that we fold.
//   - Nobody else folds, or only one of whom this store knows all folds that anybody has.
func (r *Replica) Fold(key string, retired func(Origin) bool, known func(Dot) bool, ch *Changes) (Group, error) {
	return r.Update(key, 0, func(tx *Tx) error {
		var f foldable
		for it := range tx.Reader().Items("") {
			c, ok := countOf(it.Path)
			if !ok {
				continue
			}
			if c.place != f.place || f.items == nil {
				if err := f.fold(tx); err != nil {
					return err
				}
				f = foldable{place: strings.Clone(c.place)}
			}
			f.take(tx, it, c, retired, known)
		}
		return f.fold(tx)
	}, ch)
}

// FoldOf is Fold for the keys of the live items of one retired origin, of which it looks at most at so many, from a seq on. It returns the groups and
// where to go on; next is 0 when it came to the end.
func (r *Replica) FoldOf(o Origin, from uint64, most int, retired func(Origin) bool, known func(Dot) bool, ch *Changes) (gs []Group, next uint64, err error) {
	var keys []string
	r.st.index.ascend(Range{o, max(from, 1), math.MaxUint64}, func(it *Item) bool {
		if most--; most < 0 {
			next = it.Dot.Seq
			return false
		}
		if c, ok := countOf(it.Path); ok && c.anchor == 0 {
			keys = append(keys, it.Key)
		}
		return true
	})
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if r.st.keyOf(key).isDeleted() {
			continue
		}
		g, err := r.Fold(key, retired, known, ch)
		if err != nil {
			return gs, 0, err
		}
		if g != nil {
			gs = append(gs, g)
		}
	}
	return gs, next, nil
}

// Authors returns the origins of which an item lives, in order.
func (s *Store) Authors() []Origin {
	all := make([]Origin, len(s.index.rows))
	for i := range s.index.rows {
		all[i] = s.index.rows[i].origin
	}
	return all
}

// foldable is what can be folded at one counter.
type foldable struct {
	place  string
	items  []*Item // known counts of retired origins, by path
	folds  []*Item // known folded counts, and
	anchor *Item   // the anchor of the first of them
	stuck  bool    // a folded count is not known to all: leave the counter alone
	sum    wide    // of items and folds
}

// add adds a count to the sum.
func (f *foldable) add(it *Item) (ok bool) {
	if kindOf(it.Path) == KindPNCounter {
		n, ok := decodeBalance(it.Payload)
		f.sum = f.sum.plus(wideOf(n))
		return ok
	}
	n, ok := decodeCount(it.Payload)
	f.sum = f.sum.plus(wide{0, n})
	return ok
}

// payload returns the sum as a count of the anchor's kind; ok is false when it is out of range.
func (f *foldable) payload() (payload string, ok bool) {
	if kindOf(f.anchor.Path) == KindPNCounter {
		n, ok := f.sum.narrow()
		return encodeBalance(n), ok
	}
	return string(appendCount(nil, f.sum.low)), f.sum.high == 0
}

func (f *foldable) take(tx *Tx, it *Item, c count, retired func(Origin) bool, known func(Dot) bool) {
	switch {
	case c.anchor != 0 && tx.live().orphan(it):
		// it counts for nothing
	case c.anchor != 0:
		f.stuck = f.stuck || !known(it.Dot)
		f.folds = append(f.folds, it)
		if f.anchor == nil && len(f.items) > 0 {
			if last := f.items[len(f.items)-1]; last.Dot == (Dot{c.origin, c.anchor}) {
				f.anchor = last
			}
		}
		f.stuck = f.stuck || f.anchor == nil
	case c.origin == it.Dot.Origin && retired(c.origin) && known(it.Dot):
		f.items = append(f.items, it)
	}
}

// fold makes the event.
func (f *foldable) fold(tx *Tx) error {
	if f.stuck || len(f.items) == 0 {
		return nil
	}
	if f.anchor == nil {
		f.anchor = f.items[0]
	}
	var removes []Dot
	for _, it := range append(f.items, f.folds...) {
		if it == f.anchor {
			continue
		}
		if !f.add(it) || len(removes) == RemovesMax {
			return nil
		}
		removes = append(removes, it.Dot)
	}
	if len(removes) < 2 {
		return nil // one item would take the place of one
	}
	payload, ok := f.payload()
	if !ok {
		return nil
	}
	return tx.Put(foldPath(f.anchor), payload, removes)
}
