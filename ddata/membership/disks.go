package membership

import (
	"fmt"
	"slices"
)

// DiskSet names the disks of those who were the voters of a role in one view. What the role's replicators acknowledged
// as durable in that view is on a majority of them, until a later view is settled.
type DiskSet struct {
	_     struct{} `cbor:",toarray"`
	Epoch Epoch
	Role  string
	Disks []DiskID // sorted, at least one
}

// String prints epoch, role and disks.
func (s DiskSet) String() string { return fmt.Sprintf("%v/%s%v", s.Epoch, s.Role, s.Disks) }

// same says whether both name the same disks of the same role.
func (s DiskSet) same(o DiskSet) bool { return s.Role == o.Role && slices.Equal(s.Disks, o.Disks) }

// equal says whether they are of the same view, too.
func (s DiskSet) equal(o DiskSet) bool { return s.Epoch == o.Epoch && s.same(o) }

// LastDisks returns the disks of the role's voters before a cold start, one set for each view that may not have been
// settled, oldest first: what the role had acknowledged as durable is known when a majority of each set has reported.
// It is empty for a view that does not found a cluster anew.
func (v *View) LastDisks(role string) (sets [][]DiskID) {
	if !v.Founded {
		return nil
	}
	for _, s := range v.Unsettled {
		if s.Role == role {
			sets = append(sets, s.Disks)
		}
	}
	return sets
}

// disks returns the disks of the view's voters that have the role, sorted.
func (v *View) disks(role string) []DiskID {
	var ds []DiskID
	for _, m := range v.Members {
		if m.Full() && m.Disk != 0 && m.HasRole(role) {
			ds = append(ds, m.Disk)
		}
	}
	slices.Sort(ds)
	return slices.Compact(ds)
}

// onDisk returns the voters that have a disk, oldest first.
func (v *View) onDisk() []Member {
	return slices.DeleteFunc(v.Voters(), func(m Member) bool { return m.Disk == 0 })
}

// roles returns the roles of the view's voters, sorted.
func (v *View) roles() []string {
	var rs []string
	for _, m := range v.Members {
		if m.Full() {
			rs = append(rs, m.Roles...)
		}
	}
	slices.Sort(rs)
	return slices.Compact(rs)
}

// own returns the view's own disks, role by role.
func (v *View) own() (sets []DiskSet) {
	for _, r := range v.roles() {
		if ds := v.disks(r); len(ds) > 0 {
			sets = append(sets, DiskSet{Epoch: v.Epoch, Role: r, Disks: ds})
		}
	}
	return sets
}

// witnesses returns the disks that may know what nobody else does: those of the views that were not settled when the
// view was decided, and its own.
func (v *View) witnesses() []DiskSet { return slices.Concat(v.Unsettled, v.own()) }

// since leaves out the sets of views before an epoch that is settled.
func since(sets []DiskSet, settled Epoch) []DiskSet {
	return slices.DeleteFunc(slices.Clone(sets), func(s DiskSet) bool { return s.Epoch < settled })
}

// inherit makes the view remember the witnesses of its parent, but for those that a later set repeats. A founding view
// remembers those before the cold start, even if its own disks are the same: they may hold different things.
func (v *View) inherit(sets []DiskSet) {
	var later, kept []DiskSet
	if !v.Founded {
		later = v.own()
	}
	for _, s := range slices.Backward(sets) {
		if len(kept) < setsMax && !slices.ContainsFunc(later, s.same) {
			later, kept = append(later, s), append(kept, s)
		}
	}
	slices.Reverse(kept)
	v.Unsettled = kept
}

// settlement is up to which epoch each role is settled, as far as this node has heard: of each role, the word of one of its members is enough, for that a view
// is settled stays true. It is counted when a view is installed, and goes on with what each of its members says.
type settlement struct {
	roles []string // of the view's voters, sorted
	most  []Epoch  // that a member with the role has said
}

// countSettled starts the settlement of a view that was just installed.
func (m *Machine) countSettled() {
	roles := m.view.roles()
	m.settlement = settlement{roles: roles, most: make([]Epoch, len(roles))}
	for _, o := range m.view.Members {
		m.settlement.said(o, m.settledBy(o.UID))
	}
}

// said takes the word of a member.
func (s *settlement) said(o Member, e Epoch) {
	for i, r := range s.roles {
		if e > s.most[i] && o.HasRole(r) {
			s.most[i] = e
		}
	}
}

// settled is the newest epoch that is settled in every role.
func (m *Machine) settled() Epoch {
	least := m.view.Epoch
	for _, e := range m.settlement.most {
		least = min(least, e)
	}
	return least
}

// settledUpTo takes the word of a member of the view, and puts on disk what it makes history.
func (m *Machine) settledUpTo(u UID, e Epoch) {
	if o, ok := m.view.Member(u); ok {
		m.settlement.said(o, e)
		m.noteSettled()
	}
}

// unsettled returns the witnesses of the installed view that the next one has to remember.
func (m *Machine) unsettled() []DiskSet { return since(m.view.witnesses(), m.settled()) }

// noteSettled puts on disk that sets which the view lists are history.
func (m *Machine) noteSettled() {
	r, settled := m.record, m.settled()
	if len(since(m.view.Unsettled, settled)) < len(since(m.view.Unsettled, r.Settled)) {
		r.Settled = settled
		m.persist(r)
	}
}

// copied says that two have the same disk; empty = none have. One directory is held by one process at a time, so that one of them is a copy. Counted
// for both, it would be a quorum of a view in which others have acknowledged what is not on it.
func copied(probes []Probe) string {
	at := make(map[DiskID]string, len(probes))
	for _, p := range probes {
		other, twice := at[p.Self.Disk]
		if p.Self.Disk != 0 && twice {
			return fmt.Sprintf("%s and %s have the same disk %v: the directory of one is a copy of the other's, remove it there", other, p.Self.Addr, p.Self.Disk)
		}
		at[p.Self.Disk] = p.Self.Addr
	}
	return ""
}
