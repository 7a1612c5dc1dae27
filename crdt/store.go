package crdt

import (
	"fmt"

	"github.com/tidwall/btree"
)

// StoreOptions configure a Store; the zero value means defaults.
type StoreOptions struct {
	DigestSeed  uint64  // key of the digest's hash, the same on all replicas
	LogMax      int     // events that the log keeps at most, default 65,536; a peer that lags further is repaired, which costs more
	LogBytesMax int     // bytes that the log keeps at most, default 64 MiB
	SketchCells int     // cells of the sketch of live dots that is kept current, at most iblt.CellsMax; 0: none is kept
	SketchFrom  int     // live items from which on it is kept, default 8,192; for fewer it is made when it is needed
	Defects     Defects // planted errors; only the simulator's self-test sets it
}

// Store holds the live items, the clock of applied events, the log and the digest of one space. It
// belongs to one goroutine; Snapshots and Readers taken from it may be read by any.
//
// Invariants (Check): every live item's dot is in the clock; the log and the floor partition the
// clock; the digest is the sum of the hashes of the live items, the sketch, if one is kept, of
// their dots.
type Store struct {
	opt    StoreOptions
	gen    uint64 // of what the writer owns; a snapshot raises it
	stamps uint64 // the last generation given to a tree
	keys   tree[*keyState]
	recent *keyState     // the one sought or changed last, nil after it emptied
	cursor cursor[*Item] // where the transaction looked last: what it writes there needs no second search
	index  dotIndex
	items  int
	sketch keptSketch
	clock  *Clock
	pinned bool // clock is shared with a snapshot
	floor  Clock
	log    eventLog
	digest Digest

	living  *Living                        // whose node-owned items are shown
	owned   map[Origin]map[string]struct{} // keys in which an origin owns an item
	deleted int                            // keys that are permanently deleted
	litter  btree.Set[string]              // keys that hold what no reader is shown, or may

	snap *Snapshot // the last one, while nothing has changed since
	buf  []byte    // scratch of hashing
}

const (
	logMaxDefault      = 1 << 16
	logBytesMaxDefault = 64 << 20
)

// NewStore returns an empty store.
func NewStore(o StoreOptions) *Store {
	if o.LogMax <= 0 {
		o.LogMax = logMaxDefault
	}
	if o.LogBytesMax <= 0 {
		o.LogBytesMax = logBytesMaxDefault
	}
	if o.SketchFrom <= 0 {
		o.SketchFrom = sketchFromDefault
	}
	return &Store{opt: o, gen: 1, clock: &Clock{}}
}

// Clock returns the set of events that the store has applied or merged. It changes with the store
// and must not be modified; Clone it to keep it.
func (s *Store) Clock() *Clock { return s.clock }

// Floor returns the part of the clock that the log cannot ship any more. It changes with the store
// and must not be modified.
func (s *Store) Floor() *Clock { return &s.floor }

// Digest returns the digest of the live items. Replicas with equal clocks have equal digests.
func (s *Store) Digest() Digest { return s.digest }

// Len counts the live items.
func (s *Store) Len() int { return s.items }

// LogLen counts the events in the log.
func (s *Store) LogLen() int { return s.log.events }

// Item returns the live item named d.
func (s *Store) Item(d Dot) (*Item, bool) {
	it := s.index.get(d)
	return it, it != nil
}

// Hash returns what it adds to the digest.
func (s *Store) Hash(it *Item) (h Digest) {
	s.buf, h = hashItem(s.buf, s.opt.DigestSeed, it)
	return h
}

// Holds reports whether a key holds something that is shown.
func (s *Store) Holds(key string) bool { return readerOf(s.keyOf(key), s.shown()).Len() > 0 }

// Bytes estimates the encoded size of what a key holds, in constant time.
func (s *Store) Bytes(key string) int {
	if ks := s.keyOf(key); ks != nil {
		return ks.bytes
	}
	return 0
}

// View returns the immutable state of one key. It costs the next write to that key a copy of its
// top.
func (s *Store) View(key string) Reader {
	ks := s.keyOf(key)
	if ks != nil && ks.gen == s.gen {
		ks.gen = 0
	}
	return readerOf(ks, s.shown())
}

// Snapshot returns the immutable state of the whole store; the same one as before when nothing has
// changed.
func (s *Store) Snapshot() *Snapshot {
	if s.snap == nil {
		s.snap = &Snapshot{
			keys: s.keys.fork(&s.stamps), index: s.index.snapshot(), items: s.items, clock: s.clock, digest: s.digest, living: s.shown(),
			hidden: s.hiddenKeys(),
		}
		s.pinned = true
		s.gen++
	}
	return s.snap
}

func (s *Store) String() string {
	return fmt.Sprintf("store{keys %d, items %d, clock %v, floor %v, log %d, digest %v}",
		s.keys.len, s.items, s.clock, &s.floor, s.log.events, s.digest)
}

// keyOf returns the state of a key, nil when it holds nothing. Read only.
func (s *Store) keyOf(key string) *keyState {
	if s.recent != nil && s.recent.key == key {
		return s.recent
	}
	ks := s.keys.get(key)
	if ks != nil {
		s.recent = ks
	}
	return ks
}

// writable returns the state of a key for changing; create says to make one when the key holds
// nothing.
func (s *Store) writable(key string, create bool) *keyState {
	ks := s.keyOf(key)
	switch {
	case ks == nil && !create:
		return nil
	case ks == nil:
		ks = newKeyState(s.gen, key)
		s.keys.set(ks, nil)
	case ks.gen != s.gen:
		ks = ks.clone(s.gen, &s.stamps)
		s.keys.set(ks, nil)
	}
	s.recent = ks
	return ks
}

// changing makes the clock the writer's own and forgets the last snapshot. Every change begins with
// it.
func (s *Store) changing() {
	s.snap = nil
	if s.pinned {
		s.clock = s.clock.Clone()
		s.pinned = false
	}
}

// insert brings an item to life and takes away those siblings at its path that removes names; the
// caller finishes those with forget.
func (s *Store) insert(d Dot, key, path, payload string, removes []Dot, ch *Changes) *Item {
	ks := s.writable(key, true)
	it := &Item{Dot: d, Key: ks.key, Path: path, Payload: payload}
	ks.put(it, removes, &s.cursor)
	s.cursor.root = nil
	s.index.put(s.gen, it)
	s.items++
	s.sketchPut(d)
	h := s.Hash(it)
	ks.enter(it, h)
	if ks.marks != nil {
		s.entered(ks, it)
	}
	s.digest = s.digest.Plus(h)
	ch.put(it, s.hides(ks, it))
	return it
}

// kill drops a live item from its key and the index, then forgets it.
func (s *Store) kill(it *Item, ch *Changes) {
	s.index.remove(s.gen, it.Dot)
	s.bury(it, ch)
}

// bury drops an item that the index holds no more from its key, then forgets it.
func (s *Store) bury(it *Item, ch *Changes) {
	s.writable(it.Key, false).drop(it, &s.cursor)
	s.cursor.root = nil
	s.forget(it, ch)
}

// forget finishes the death of an item that neither its key nor the index holds any more.
func (s *Store) forget(it *Item, ch *Changes) {
	ks := s.writable(it.Key, false)
	s.items--
	s.sketchDrop(it.Dot)
	h := s.Hash(it)
	marked, hidden := ks.marks != nil || s.litter.Len() > 0, s.hides(ks, it)
	ks.leave(it, h)
	if marked {
		s.left(ks, it)
	}
	s.digest = s.digest.Minus(h)
	if ks.items == 0 {
		s.keys.remove(ks.key, nil)
		s.recent = nil
	}
	ch.drop(it, hidden)
}
