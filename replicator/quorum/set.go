package quorum

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// Set is one view whose quorum an operation needs: the installed one, or an older one that is not
// settled yet. P stands for a peer; its zero value stands for the own replica.
type Set[P comparable] struct {
	Epoch  uint64
	Size   int  // voters of that view, gone ones included
	Self   bool // this replica is one of them
	Peers  []P  // the others that are still there
	Newest bool // it is the installed view
}

// Members counts the members of the set that are still there.
func (v *Set[P]) Members() int {
	if v.Self {
		return len(v.Peers) + 1
	}
	return len(v.Peers)
}

// Need returns how many members of the set an operation has to reach. Of an older view it asks for
// a majority at most, and for no more members than are left of it. So an older view never blocks
// its survivors permanently (R13).
func (v *Set[P]) Need(l Level) int {
	if v.Newest {
		return l.Need(v.Size)
	}
	return min(l.Need(v.Size), MajorityOf(v.Size), v.Members())
}

// Tally counts the members that satisfy has.
func (v *Set[P]) Tally(has func(P) bool) int {
	var own P
	n := 0
	if v.Self && has(own) {
		n++
	}
	for _, p := range v.Peers {
		if has(p) {
			n++
		}
	}
	return n
}

// Without returns the members that do not satisfy has, the own replica last.
func (v *Set[P]) Without(has func(P) bool) (out []P) {
	var own P
	for _, p := range v.Peers {
		if !has(p) {
			out = append(out, p)
		}
	}
	if v.Self && !has(own) {
		out = append(out, own)
	}
	return out
}

// MajorityGone reports whether less is left of the view than every majority of it must meet.
func (v *Set[P]) MajorityGone() bool { return v.Members() < v.Size-v.Size/2 }

// Member is a member of the installed view, as far as counting is concerned.
type Member struct {
	ID    crdt.Origin
	Disk  uint64 // stable id of its directory; 0: it has none
	Voter bool
}

// SetOf returns the members of the installed view that were voters of a past one, or carry its
// disks. The others are sorted by id.
func SetOf(past PastView, self Member, others []Member) Set[crdt.Origin] {
	if len(past.Disks) > 0 {
		return carriers(past, self, others)
	}
	v := Set[crdt.Origin]{Epoch: past.Epoch, Size: len(past.Voters), Self: past.hasVoter(self.ID)}
	v.Peers = make([]crdt.Origin, 0, min(len(past.Voters), len(others)))
	for _, m := range others {
		if past.hasVoter(m.ID) {
			v.Peers = append(v.Peers, m.ID)
		}
	}
	return v
}

// carriers returns one member per disk: a process that has been started again stands beside its
// dead self until that is dropped from the view, and one disk is one vote.
func carriers(past PastView, self Member, others []Member) Set[crdt.Origin] {
	v := Set[crdt.Origin]{Epoch: past.Epoch, Size: len(past.Disks), Self: slices.Contains(past.Disks, self.Disk)}
	for _, d := range past.Disks {
		carrier := -1
		for i, m := range others {
			if m.Disk == d && (carrier < 0 || m.Voter && !others[carrier].Voter) {
				carrier = i
			}
		}
		if carrier >= 0 && !(v.Self && d == self.Disk) {
			v.Peers = append(v.Peers, others[carrier].ID)
		}
	}
	return v
}

// Resolve returns the set with what the caller has for its members in place of their ids.
func Resolve[P comparable](v Set[crdt.Origin], peer func(crdt.Origin) P) Set[P] {
	out := Set[P]{Epoch: v.Epoch, Size: v.Size, Self: v.Self, Newest: v.Newest, Peers: make([]P, len(v.Peers))}
	for i, id := range v.Peers {
		out.Peers[i] = peer(id)
	}
	return out
}
