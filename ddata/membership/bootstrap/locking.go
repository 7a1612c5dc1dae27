package bootstrap

import (
	"errors"
	"fmt"
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

// unlocked names the nodes that have not locked to the founding to which this node is locked.
func (l *locking) unlocked(self view.UID) string {
	var missing []string
	for _, o := range l.view.Members {
		switch h, locked := l.said[o.UID]; {
		case !locked && o.UID == self:
			missing = append(missing, "this node's own lock is not on its disk yet")
		case !locked:
			missing = append(missing, fmt.Sprintf("no lock from %v at %s", o.UID, o.Addr))
		case h != l.hash:
			missing = append(missing, fmt.Sprintf("%v at %s is locked to another", o.UID, o.Addr))
		}
	}
	return fmt.Sprintf("locked to the founding %v/%v of %d nodes%s; each must hear all, check that they run and "+
		"can dial each other's addresses",
		l.view.Cluster, l.view.Epoch, len(l.view.Members), listed("; ", missing))
}

// isComplete reports whether all members of the founding have locked themselves to it.
func (l *locking) isComplete() bool {
	return l.view != nil && !slices.ContainsFunc(l.view.Members,
		func(o view.Member) bool { return l.said[o.UID] != l.hash })
}

// tell tells the other founders to which view this node has locked itself, if that is on its disk.
func (l *locking) tell(self view.UID, out *Output) {
	if l.said[self] != l.hash {
		return
	}
	for _, o := range l.view.Members {
		if o.UID != self {
			out.send(o.UID, o.Addr, Locked{View: l.view})
		}
	}
}

// maybeInstall installs the founding view when all its members have locked to it.
func (l *locking) maybeInstall(out *Output) {
	if l.isComplete() {
		out.Install = append(out.Install, l.view)
	}
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
func (s *Seeker) Targets() []string { return s.targets.addrs }

// Candidates returns the last probes of the nodes that were heard lately, by uid.
func (s *Seeker) Candidates(now time.Time) []Probe { return s.candidates.probes(now) }

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
