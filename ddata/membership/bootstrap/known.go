package bootstrap

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// copied says that two have the same disk; empty = none have. One directory is held by one process
// at a time, so that one of them is a copy. Counted for both, it would be a quorum of a view in
// which others have acknowledged what is not on it.
func copied(probes []Probe) string {
	at := make(map[view.DiskID]string, len(probes))
	for _, p := range probes {
		other, twice := at[p.Self.Disk]
		if p.Self.Disk != 0 && twice {
			return fmt.Sprintf("%s and %s have the same disk %v: the directory of one is a copy of the other's, "+
				"remove it there", other, p.Self.Addr, p.Self.Disk)
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
func (k Known) names(d view.DiskID) bool {
	return k.voted(d) || slices.ContainsFunc(k.Sets, func(s view.DiskSet) bool { return slices.Contains(s.Disks, d) })
}

// voted reports whether the disk is one of the view's voters'.
func (k Known) voted(d view.DiskID) bool {
	return slices.ContainsFunc(k.Voters, func(v view.Member) bool { return v.Disk == d })
}

// disks are those of the view's voters, sorted.
func (k Known) disks() []view.DiskID {
	ds := make([]view.DiskID, 0, len(k.Voters))
	for _, v := range k.Voters {
		ds = append(ds, v.Disk)
	}
	slices.Sort(ds)
	return slices.Compact(ds)
}

// missing names the disks of which too few are here; empty = none. Of all the view's disks it takes
// a quorum. Then no others found a cluster, and no others decided what is unknown here. Of a set,
// half of it meets whatever was acknowledged by a majority.
func (k Known) missing(here []view.DiskID, s downing.Strategy) string {
	among := make(map[view.UID]bool)
	for _, v := range k.Voters {
		among[v.UID] = slices.Contains(here, v.Disk)
	}
	if len(k.Voters) > 0 && !s.Quorum(k.Voters, func(u view.UID) bool { return among[u] }) {
		return fmt.Sprintf("view %v/%v had the disks %v, a quorum of them is needed (%v)",
			k.Cluster, k.Epoch, k.disks(), s)
	}
	for _, s := range k.Sets {
		if 2*overlap(s.Disks, here) < len(s.Disks) {
			return fmt.Sprintf("view %v/%v, perhaps not settled, had the disks %v of role %q, at least half of them "+
				"are needed", k.Cluster, s.Epoch,
				s.Disks, s.Role)
		}
	}
	return ""
}

func overlap(ds, here []view.DiskID) (n int) {
	for _, d := range ds {
		if slices.Contains(here, d) {
			n++
		}
	}
	return n
}

// disksOf are the disks that are there, sorted.
func disksOf(probes []Probe) (ds []view.DiskID) {
	for _, p := range probes {
		if p.Self.Disk != 0 {
			ds = append(ds, p.Self.Disk)
		}
	}
	slices.Sort(ds)
	return ds
}

func (k Known) equal(o Known) bool {
	return k.compare(o) == 0 && k.Founding == o.Founding && slices.EqualFunc(k.Sets, o.Sets, view.DiskSet.Equal)
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
		cmp.Compare(pending(k), pending(o)), slices.CompareFunc(k.Voters, o.Voters, func(a, b view.Member) int {
			return cmp.Compare(a.UID, b.UID)
		}))
}

// agreeOnKeys fills in a founding view what the founders have configured, and what was agreed on
// before the cluster stopped. A move that was under way then needs no end: what was volatile is
// gone, and the replicators bring the rest together.
func agreeOnKeys(v *view.View, founders []Probe, needs []Known) error {
	for _, p := range founders {
		v.Durable = view.MergePatterns(v.Durable, p.Durable)
	}
	for _, k := range needs {
		v.Durable, v.Moves = view.MergePatterns(v.Durable, k.Durable), max(v.Moves, k.Moves)
	}
	return view.CheckPatterns(v.Durable)
}
