package crdt

import (
	"iter"
	"strings"
)

// Snapshot is the immutable state of a store at one moment. Any number of goroutines may read it.
type Snapshot struct {
	trees  any // a *snapshotTrees, see treesOf
	items  int
	bytes  int
	clock  *Clock
	digest Digest
	living *Living
	hidden int // keys that read as if they held nothing
}

type snapshotTrees struct {
	keys  keyTree
	index itemIndex
}

// treesOf returns the trees of a snapshot, which are not to be seen, as those of bigOf.
func treesOf(s *Snapshot) *snapshotTrees { return s.trees.(*snapshotTrees) }

// Keys yields, in order, the keys that begin with prefix and hold something that is shown.
func (s *Snapshot) Keys(prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		treesOf(s).keys.Ascend(prefix, func(ks keyItems) bool {
			return strings.HasPrefix(ks.key(), prefix) &&
				(ks.marks() != nil && readerOf(ks, s.living).Len() == 0 || yield(ks.key()))
		})
	}
}

// KeyCount counts the keys that hold something that is shown.
func (s *Snapshot) KeyCount() int { return treesOf(s).keys.Len() - s.hidden }

// View returns the state of one key.
func (s *Snapshot) View(key string) Reader { return readerOf(treesOf(s).keys.Get(key), s.living) }

// Items yields all live items, by key, path and dot.
func (s *Snapshot) Items() iter.Seq[*Item] { return s.ItemsFrom("", "") }

// ItemsFrom yields the live items from a key and a path on, by key, path and dot, so that a stream
// in chunks can go on where it stopped.
func (s *Snapshot) ItemsFrom(key, path string) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		treesOf(s).keys.Ascend(key, func(ks keyItems) bool {
			from := ""
			if ks.key() == key {
				from = path
			}
			more := true
			ks.ascend(from, func(it *Item) bool {
				more = yield(it)
				return more
			})
			return more
		})
	}
}

// Len counts the live items.
func (s *Snapshot) Len() int { return s.items }

// Size estimates their encoded length in bytes, their keys aside.
func (s *Snapshot) Size() int { return s.bytes }

// Clock returns the clock of that moment. The caller must not modify it.
func (s *Snapshot) Clock() *Clock { return s.clock }

// Digest returns the digest of the live items.
func (s *Snapshot) Digest() Digest { return s.digest }

// Item returns the live item named d.
func (s *Snapshot) Item(d Dot) (*Item, bool) {
	it := treesOf(s).index.Get(d)
	return it, it != nil
}

// Live reports whether the item named d is alive.
func (s *Snapshot) Live(d Dot) bool { return treesOf(s).index.Get(d) != nil }

// In yields the live items whose dots are in c and come after a dot, in order of dots.
func (s *Snapshot) In(c *Clock, after Dot) iter.Seq[*Item] { return treesOf(s).index.In(c, after) }
