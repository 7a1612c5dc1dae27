package membership

import (
	"cmp"
	"fmt"
	"slices"
)

// DiskSet names the disks of the voters of a role in one view. What the role's replicators
// acknowledged as durable in that view is on a majority of them, until a later view is settled.
type DiskSet struct {
	_     struct{} `cbor:",toarray"`
	Epoch Epoch
	Role  string
	Disks []DiskID // sorted, at least one
}

// String prints epoch, role and disks.
func (s DiskSet) String() string { return fmt.Sprintf("%v/%s%v", s.Epoch, s.Role, s.Disks) }

// same reports whether both name the same disks of the same role.
func (s DiskSet) same(o DiskSet) bool { return s.Role == o.Role && slices.Equal(s.Disks, o.Disks) }

// equal reports whether they are of the same view, too.
func (s DiskSet) equal(o DiskSet) bool { return s.Epoch == o.Epoch && s.same(o) }

// LastDisks returns the disks of the role's voters before a cold start, one set for each view that
// may not have been settled, oldest first: what the role had acknowledged as durable is known when
// a majority of each set has reported. It is empty for a view that does not found a cluster anew.
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

// witnesses returns the disks that may know what no other does: those of the views that were not
// settled when the view was decided, and its own.
func (v *View) witnesses() []DiskSet { return slices.Concat(v.Unsettled, v.own()) }

// since leaves out the sets of views before an epoch that is settled.
func since(sets []DiskSet, settled Epoch) []DiskSet {
	return slices.DeleteFunc(slices.Clone(sets), func(s DiskSet) bool { return s.Epoch < settled })
}

// inherit makes the view remember the witnesses of its parent, except those that a later set
// repeats. A founding view remembers those before the cold start, even if its own disks are the
// same: they may hold different things.
func (v *View) inherit(sets []DiskSet) {
	var later, kept []DiskSet
	if !v.Founded {
		later = v.own()
	}
	bytes := 0
	for _, s := range slices.Backward(sets) {
		if slices.ContainsFunc(later, s.same) {
			continue
		}
		if bytes += s.bytesOf(); len(kept) == setsMax || bytes > roomOfSets {
			break
		}
		later, kept = append(later, s), append(kept, s)
	}
	slices.Reverse(kept)
	v.Unsettled = kept
}

// settlement is up to which epoch each role is settled, as far as this node has heard: of each
// role, the word of one of its members is enough, for that a view is settled stays true. It is
// counted when a view is installed, and goes on with what each of its members says.
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
func (k Known) missing(here []DiskID, s Strategy) string {
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
	return k.compare(o) == 0 && k.Founding == o.Founding && slices.EqualFunc(k.Sets, o.Sets, DiskSet.equal)
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
