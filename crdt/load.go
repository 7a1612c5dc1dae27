package crdt

import (
	"fmt"
	"iter"
	"slices"

	"github.com/coterie-go/coterie/crdt/tree"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Load fills an empty store from rows as they are read; an error of the reader is returned. It
// verifies that they belong to the clock and the digest that were written with them; if not, it
// returns an error that wraps ErrDigest or ErrMalformed and says what differs. After an error the
// store is empty. The log begins empty.
func (s *Store) Load(clock *Clock, digest Digest, items iter.Seq2[Item, error]) error {
	if !s.clock.Empty() || s.live.count != 0 {
		return fmt.Errorf("%w: load into a store that is not empty", ErrMalformed)
	}
	fresh := NewStore(s.opt)
	l := loading{contents: &fresh.live, loose: map[*keyState]*looseItems{}}
	for it, err := range items {
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		if err := l.check(&it, clock); err != nil && !s.opt.Planted(defect.LoadUnverified) {
			return fmt.Errorf("load: %w", err)
		}
		if fresh.live.index.Get(it.Dot) != nil {
			return fmt.Errorf("load: %w: key %q: two rows for dot %v", ErrMalformed, it.Key, it.Dot)
		}
		l.add(new(it))
	}
	l.settle()
	if sum := fresh.Digest(); sum != digest && !s.opt.Planted(defect.LoadUnverified) {
		return fmt.Errorf("load: %w: %d rows sum to %v, their commit said %v", ErrDigest, fresh.Len(), sum, digest)
	}
	fresh.cover(clock)
	*s = *fresh
	return nil
}

// loading brings items to life in contents that nothing else sees yet. Those of a key with trees are gathered, and
// find their places there all at once.
type loading struct {
	*contents
	loose map[*keyState]*looseItems
	key   string    // of the last item
	last  *keyState // to which the last item came that was gathered
	into  *looseItems
}

type looseItems = tree.Loose[*Item, itemPath]

// check is checkItem, which has looked at the key if the last item is of the same.
func (l *loading) check(it *Item, clock *Clock) error {
	if it.Key == l.key && l.key != "" {
		return it.check(clock)
	}
	return checkItem(it, clock)
}

// add brings an item to life, which is the store's from then on.
func (l *loading) add(it *Item) {
	l.key = it.Key
	ks := l.keys.get(it.Key)
	if ks == (keyItems{}) && isPlain(it) {
		ks.only = it
		l.keys.set(ks)
		l.enter(ks, it)
		return
	}
	if ks.more == nil || ks.more.big == nil || ks.more.marks != nil {
		l.insert(it, nil, nil)
		return
	}
	if !isPlain(it) { // what it means depends on the others
		l.place(ks.more)
		l.insert(it, nil, nil)
		return
	}
	it.Key = ks.key()
	if ks.more != l.last {
		l.turn(ks.more)
	}
	l.into.Add(it)
	ks.more.items++
	ks.more.enter(it)
	l.enter(ks, it)
}

// turn makes ks the key of which items are gathered.
func (l *loading) turn(ks *keyState) {
	into := l.loose[ks]
	if into == nil {
		into = &looseItems{}
		l.loose[ks] = into
	}
	l.last, l.into = ks, into
}

// place gives the items that were gathered of a key their places in its trees.
func (l *loading) place(ks *keyState) {
	into := l.loose[ks]
	if into == nil {
		return
	}
	delete(l.loose, ks)
	l.last, l.into = nil, nil
	bigOf(ks).ascend("", func(it *Item) bool {
		into.Add(it)
		return true
	})
	ks.big, ks.paths = build(into)
}

// settle gives all items their places.
func (l *loading) settle() {
	for ks := range l.loose { // order: each has trees of its own
		l.place(ks)
	}
}

// build makes the trees of items, and counts their paths.
func build(items *looseItems) (b *bigKey, paths int32) {
	b = &bigKey{}
	b.firsts = items.Tree(func(same []*Item) *Item {
		slices.SortFunc(same, func(x, y *Item) int { return x.Dot.Compare(y.Dot) })
		b.rest.Set(&siblings{same[0].Path, slices.Clone(same[1:])}, nil)
		return same[0]
	})
	return b, int32(b.firsts.Len())
}
