package membership

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// settlement is up to which epoch each role is settled, as far as this node has heard: of each
// role, the word of one of its members is enough, for that a view is settled stays true. It is
// counted when a view is installed, and goes on with what each of its members says.
type settlement struct {
	roles []string // of the view's voters, sorted
	most  []Epoch  // that a member with the role has said
}

// countSettled starts the settlement of a view that was just installed.
func (m *Machine) countSettled() {
	roles := m.view.RolesOfVoters()
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
func (m *Machine) unsettled() []DiskSet { return view.SetsSince(m.view.Witnesses(), m.settled()) }

// noteSettled puts on disk that sets which the view lists are history.
func (m *Machine) noteSettled() {
	r, settled := m.record, m.settled()
	if len(view.SetsSince(m.view.Unsettled, settled)) < len(view.SetsSince(m.view.Unsettled, r.Settled)) {
		r.Settled = settled
		m.persist(r)
	}
}

// copied says that two have the same disk; empty = none have. One directory is held by one process
// at a time, so that one of them is a copy. Counted for both, it would be a quorum of a view in
// which others have acknowledged what is not on it.
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

// String prints the view's place, its disks, and those that have to be heard.
func (k Known) String() string {
	s := fmt.Sprintf("%v/%v", k.Cluster, k.Epoch)
	if k.Pending {
		s += "?"
	}
	s += fmt.Sprintf(" disks %v", k.disks())
	if sets := view.SetsSince(k.Sets, k.Settled); len(sets) > 0 {
		s += fmt.Sprintf(" unsettled %v", sets)
	}
	return s
}

// names reports whether a disk belongs to what has to be heard.
func (k Known) names(d DiskID) bool {
	return k.voted(d) || slices.ContainsFunc(k.Sets, func(s DiskSet) bool { return slices.Contains(s.Disks, d) })
}

// voted reports whether the disk is one of the view's voters'.
func (k Known) voted(d DiskID) bool {
	return slices.ContainsFunc(k.Voters, func(v Member) bool { return v.Disk == d })
}

// disks are those of the view's voters, sorted.
func (k Known) disks() []DiskID {
	ds := make([]DiskID, 0, len(k.Voters))
	for _, v := range k.Voters {
		ds = append(ds, v.Disk)
	}
	slices.Sort(ds)
	return slices.Compact(ds)
}

// missing names the disks of which too few are here; empty = none. Of all the view's disks it takes
// a quorum. Then no others found a cluster, and no others decided what is unknown here. Of a set,
// half of it meets whatever was acknowledged by a majority.
func (k Known) missing(here []DiskID, s downing.Strategy) string {
	among := make(map[UID]bool)
	for _, v := range k.Voters {
		among[v.UID] = slices.Contains(here, v.Disk)
	}
	if len(k.Voters) > 0 && !s.Quorum(k.Voters, has(among)) {
		return fmt.Sprintf("view %v/%v had the disks %v, a quorum of them is needed (%v)", k.Cluster, k.Epoch, k.disks(), s)
	}
	for _, s := range k.Sets {
		if 2*overlap(s.Disks, here) < len(s.Disks) {
			return fmt.Sprintf("view %v/%v, perhaps not settled, had the disks %v of role %q, at least half of them are needed", k.Cluster, s.Epoch,
				s.Disks, s.Role)
		}
	}
	return ""
}

func overlap(ds, here []DiskID) (n int) {
	for _, d := range ds {
		if slices.Contains(here, d) {
			n++
		}
	}
	return n
}

// disksOf are the disks that are there, sorted.
func disksOf(probes []Probe) (ds []DiskID) {
	for _, p := range probes {
		if p.Self.Disk != 0 {
			ds = append(ds, p.Self.Disk)
		}
	}
	slices.Sort(ds)
	return ds
}

func (k Known) equal(o Known) bool {
	return k.compare(o) == 0 && k.Founding == o.Founding && slices.EqualFunc(k.Sets, o.Sets, DiskSet.Equal)
}

// compare orders by epoch; a view that is only pending comes after one that was installed.
func (k Known) compare(o Known) int {
	pending := func(k Known) int {
		if k.Pending {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(k.Epoch, o.Epoch), cmp.Compare(k.Cluster, o.Cluster),
		cmp.Compare(pending(k), pending(o)), slices.CompareFunc(k.Voters, o.Voters, func(a, b Member) int { return cmp.Compare(a.UID, b.UID) }))
}
