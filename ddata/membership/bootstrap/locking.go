package bootstrap

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// locking is the founding to which a node has locked itself.
//
// Invariant: view is set once, and hash is its hash.
type locking struct {
	view   *view.View // nil = not locked
	hash   view.Hash
	record uint64                 // which has the lock
	at     time.Time              // when; moved by Awake
	said   map[view.UID]view.Hash // the founders that have locked themselves, and to what
}

// Check verifies the invariants. Tests call it after every step.
func (s *Seeker) Check() error {
	l := &s.locking
	switch {
	case l.view == nil:
		return nil
	case l.hash != l.view.Hash() || s.disk.IsStored(l.record) != (l.said[s.cfg.Self.UID] == l.hash):
		return errors.New("locked to another view than said")
	case s.memory.Pending != l.view:
		return errors.New("lock is not on disk")
	}
	return nil
}

// IsLocked reports whether the node has locked itself to a founding.
func (s *Seeker) IsLocked() bool { return s.locking.view != nil }

// Joins is the cluster that the node joins; zero = it has heard of none.
func (s *Seeker) Joins() view.ClusterID { return s.joining.cluster }

// Targets are the addresses that the node probes. The slice is not modified.
func (s *Seeker) Targets() []string { return s.targets }

// Candidates returns the last probes of the nodes that were heard lately, by uid.
func (s *Seeker) Candidates(now time.Time) (probes []Probe) {
	for _, u := range sortedKeys(s.candidates) {
		if f := s.candidates[u]; now.Before(f.until) {
			probes = append(probes, f.probe)
		}
	}
	return probes
}

func sortedKeys[V any](set map[view.UID]V) []view.UID {
	return slices.Sorted(maps.Keys(set))
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
