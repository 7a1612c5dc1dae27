package replicator

import (
	"math"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// voterSet is one view whose quorum an operation needs: the installed one, or an older one that is
// not settled yet (joint quorum).
type voterSet struct {
	epoch  uint64
	size   int  // voters of that view, gone ones included
	self   bool // this replica is one of them
	peers  []*peer
	newest bool
}

// members counts those of the set that are still there.
func (v *voterSet) members() int {
	if v.self {
		return len(v.peers) + 1
	}
	return len(v.peers)
}

// need returns how many members of the set an operation has to reach. Of an older view it asks for
// a majority at most, and for no more members than are left of it. So an older view never blocks
// its survivors permanently (V4).
func (v *voterSet) need(l Level) int {
	if v.newest {
		return l.Need(v.size)
	}
	return min(l.Need(v.size), quorumOf(v.size), v.members())
}

// refreshSets recomputes whose quorums count, after the view or the chain of unsettled ones has
// changed.
func (s *space) refreshSets() {
	m := s.m
	newest := voterSet{epoch: m.view.Epoch, size: len(m.view.Voters), self: m.voter, newest: true}
	for _, p := range m.peers {
		if p.voter {
			newest.peers = append(newest.peers, p)
		}
	}
	s.sets = append(s.sets[:0], newest)
	for _, past := range s.chain.pasts(m.view) {
		s.sets = append(s.sets, m.setOf(past))
	}
	s.acksMoved = true
}

// setOf returns those members of the installed view that were voters of a past one, or carry its
// disks.
func (m *Machine) setOf(past PastView) voterSet {
	if len(past.Disks) == 0 {
		v := voterSet{epoch: past.Epoch, size: len(past.Voters), self: hasOrigin(past.Voters, m.cfg.Self)}
		for _, p := range m.peers {
			if hasOrigin(past.Voters, p.id) {
				v.peers = append(v.peers, p)
			}
		}
		return v
	}
	return m.carriers(past)
}

// carriers returns one member per disk: a process that has been started again stands beside its
// dead self until that is dropped from the view, and one disk is one vote.
func (m *Machine) carriers(past PastView) voterSet {
	v := voterSet{epoch: past.Epoch, size: len(past.Disks), self: slices.Contains(past.Disks, m.cfg.Disk)}
	for _, d := range past.Disks {
		var carrier *peer
		for _, p := range m.peers {
			if p.disk == d && (carrier == nil || p.voter && !carrier.voter) {
				carrier = p
			}
		}
		if carrier != nil && !(v.self && d == m.cfg.Disk) {
			v.peers = append(v.peers, carrier)
		}
	}
	return v
}

func hasOrigin(sorted []crdt.Origin, o crdt.Origin) bool {
	_, ok := slices.BinarySearch(sorted, o)
	return ok
}

// reach returns the last own event that enough replicas have acknowledged for the level, in every
// set.
func (s *space) reach(l Level) uint64 {
	if !s.chain.complete() {
		return 0
	}
	r := uint64(math.MaxUint64)
	for i := range s.sets {
		v := &s.sets[i]
		r = min(r, s.common(v, v.need(l)))
	}
	return r
}

// common returns the last own event that n members of a set have acknowledged.
func (s *space) common(v *voterSet, n int) uint64 {
	if n <= 0 {
		return math.MaxUint64
	}
	bases := s.bases[:0]
	if v.self {
		bases = append(bases, s.acked().Base(s.m.cfg.Self))
	}
	for _, p := range v.peers {
		if s.m.counts(p) {
			bases = append(bases, p.link(s).base)
		}
	}
	s.bases = bases
	if len(bases) < n {
		return 0
	}
	slices.Sort(bases)
	return bases[len(bases)-n]
}

// agreed reports whether, in every set, as many members as the level needs satisfy has. The own
// replica is asked as nil.
func (s *space) agreed(l Level, has func(*peer) bool) bool {
	if !s.chain.complete() {
		return false
	}
	for i := range s.sets {
		v := &s.sets[i]
		if s.tally(v, has) < v.need(l) {
			return false
		}
	}
	return true
}

// tally counts the members of a set that satisfy has.
func (s *space) tally(v *voterSet, has func(*peer) bool) int {
	n := 0
	if v.self && has(nil) {
		n++
	}
	for _, p := range v.peers {
		if has(p) {
			n++
		}
	}
	return n
}
