package crdt

import "iter"

// Outcome says what Apply did with a well-formed group.
type Outcome uint8

// Outcomes of Apply.
const (
	Applied   Outcome = iota + 1 // its events are now part of the store
	Duplicate                    // all its dots were known: nothing happened
	Waiting                      // it removes dots that the clock lacks: nothing happened, Changes.Missing names them
)

// StoreOptions configure a Store; the zero value means defaults.
type StoreOptions struct {
	DigestSeed  uint64 // key of the digest's hash, the same on all replicas
	LogMax      int    // events that the log keeps at most, default 65,536
	LogBytesMax int    // bytes that the log keeps at most, default 64 MiB
	Faults      Faults // planted defects; only the simulator's self-test sets it
}

// Store holds the live items, the clock of applied events, the log and the digest of one space.
type Store struct{ clock *Clock }

func NewStore(o StoreOptions) *Store                         { return &Store{clock: &Clock{}} }
func (s *Store) Apply(g Group, ch *Changes) (Outcome, error) { return Applied, nil }
func (s *Store) Clock() *Clock                               { return s.clock }
func (s *Store) Digest() Digest                              { return Digest{} }
func (s *Store) Floor() *Clock                               { return s.clock }
func (s *Store) Len() int                                    { return 0 }
func (s *Store) Missing(peer *Clock, maxBytes int) (gs []Group, more, covered bool) {
	return nil, false, true
}
func (s *Store) Trim(stable *Clock)                                                       {}
func (s *Store) Snapshot() *Snapshot                                                      { return &Snapshot{} }
func (s *Store) View(key string) Reader                                                   { return Reader{} }
func (s *Store) Item(d Dot) (*Item, bool)                                                 { return nil, false }
func (s *Store) Hash(it *Item) Digest                                                     { return Digest{} }
func (s *Store) Merge(donor *Clock, live func(Dot) bool, items []Item, ch *Changes) error { return nil }

// MergeDiff is Merge for a caller who already knows which own live dots the donor does not hold alive: cost O(len(absent)+len(items)).
func (s *Store) MergeDiff(donor *Clock, absent []Dot, items []Item, ch *Changes) error { return nil }
func (s *Store) Union(items []Item, ch *Changes)                                       {}
func (s *Store) Load(clock *Clock, digest Digest, items iter.Seq[Item]) error          { return nil }
func (s *Store) Check() error                                                          { return nil }
func (s *Store) String() string                                                        { return "" }
