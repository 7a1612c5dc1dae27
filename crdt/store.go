package crdt

import (
	"fmt"
	"iter"

	"github.com/coterie-go/coterie/proptest/defect"
)

// StoreOptions configure a Store; the zero value means defaults.
type StoreOptions struct {
	// DigestSeed is the key of the digest's hash, the same on all replicas.
	DigestSeed uint64
	// LogMax is how many events the log keeps at most. A peer that lags further is repaired, which
	// costs more. Default 65,536.
	LogMax int
	// LogBytesMax is how many bytes the log keeps at most. Default 64 MiB.
	LogBytesMax int
	// SketchCells is the number of cells of the sketch of live dots that is kept current, at most
	// iblt.CellsMax. Default: none is kept.
	SketchCells int
	// SketchFrom is from how many live items on it is kept; for fewer it is made when it is needed. Default 8,192.
	SketchFrom int

	planted
}

// planted is the errors that a test has planted.
type planted = defect.Set

// Store holds the live items, the clock of applied events, the log and the digest of one space. It
// belongs to one goroutine; Snapshots and Readers taken from it may be read by any.
//
// Invariants (Check): every live item's dot is in the clock; the log and the floor partition the clock; the digest is
// the sum of the hashes of the live items, the sketch, if one is kept, of their dots.
type Store struct {
	opt    StoreOptions
	clock  *Clock
	pinned bool // clock is shared with a snapshot
	live   contents
	log    eventLog
	snap   *Snapshot // the last one, while nothing has changed since

	merging *Merging // nil: no merge in steps is under way
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
	return &Store{
		opt: o, clock: &Clock{},
		live: contents{
			seed: o.DigestSeed, planted: o.planted, keys: keyTable{gen: 1},
			sketch: keptSketch{hash: o.hashOf(0), cells: o.SketchCells, from: o.SketchFrom},
		},
		log: eventLog{eventsMax: o.LogMax, bytesMax: o.LogBytesMax},
	}
}

// Clock returns the set of events that the store has applied or merged. It changes with the store
// and must not be modified; Clone it to keep it.
func (s *Store) Clock() *Clock { return s.clock }

// Floor returns the part of the clock that the log cannot ship any more. It changes with the store
// and must not be modified.
func (s *Store) Floor() *Clock { return &s.log.floor }

// Digest returns the digest of the live items. Replicas with equal clocks have equal digests.
func (s *Store) Digest() Digest { return s.live.digest }

// Len counts the live items.
func (s *Store) Len() int { return s.live.count }

// LogLen counts the events in the log.
func (s *Store) LogLen() int { return s.log.events }

// Item returns the live item named d.
func (s *Store) Item(d Dot) (*Item, bool) {
	it := s.live.index.Get(d)
	return it, it != nil
}

// In yields the live items whose dots are in c and come after a dot, in order of dots. The store
// must not change meanwhile.
func (s *Store) In(c *Clock, after Dot) iter.Seq[*Item] { return s.live.index.In(c, after) }

// Hash returns what it adds to the digest.
func (s *Store) Hash(it *Item) Digest { return s.live.hash(it) }

// Bytes estimates the encoded size of what a key holds, in constant time.
func (s *Store) Bytes(key string) int {
	return s.live.keys.get(key).bytes()
}

// View returns the immutable state of one key. It costs the next write to that key a copy of its top.
func (s *Store) View(key string) Reader {
	ks := s.live.keys.get(key)
	ks.handOut()
	return s.live.view(ks)
}

// Peek is View for reads that end before the next change of the store. It costs nothing.
func (s *Store) Peek(key string) Reader { return s.live.view(s.live.keys.get(key)) }

// Snapshot returns the immutable state of the whole store; the same one as before when nothing has changed.
func (s *Store) Snapshot() *Snapshot {
	if s.snap == nil {
		s.snap = s.live.snapshot(s.clock)
		s.pinned = true
	}
	return s.snap
}

func (s *Store) String() string {
	return fmt.Sprintf("store{keys %d, items %d, clock %v, floor %v, log %d, digest %v}",
		s.live.keys.tree.Len(), s.Len(), s.clock, s.Floor(), s.LogLen(), s.Digest())
}

// changing makes the clock the writer's own and forgets the last snapshot. Every change begins with it.
func (s *Store) changing() {
	s.snap = nil
	if s.pinned {
		s.clock = s.clock.Clone()
		s.pinned = false
	}
}

// Trim drops log entries whose dots all of the clocks contain: those of all peers that count. The floor rises.
func (s *Store) Trim(has ...*Clock) { s.log.trim(has) }

// Missing returns the groups that a peer with the given clock lacks, in the order in which this replica applied them,
// so that any prefix can be applied. It stops after about maxBytes, but not before one group; more says that it did.
// covered is false when the log does not reach back far enough; then there are no groups and the peer needs a repair.
// The cost is that of what is returned, not of the log.
func (s *Store) Missing(peer *Clock, maxBytes int) (gs []Group, more, covered bool) {
	gs, more, covered = s.log.missing(peer, s.clock, maxBytes)
	if s.opt.Planted(defect.BareFactWithoutRemover) {
		for i := range gs {
			gs[i] = s.live.bare(gs[i])
		}
	}
	return gs, more, covered
}

// Check recomputes everything that the store maintains and returns what differs. It costs a walk
// over items and log: for tests and the simulator.
func (s *Store) Check() error { return NewChecker(s, nil).Check() }
