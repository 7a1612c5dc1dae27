package view

import (
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

// Equal reports whether they are of the same view, too.
func (s DiskSet) Equal(o DiskSet) bool { return s.Epoch == o.Epoch && s.same(o) }

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

// Disks returns the disks of the view's voters that have the role, sorted.
func (v *View) Disks(role string) []DiskID {
	var ds []DiskID
	for _, m := range v.Members {
		if m.Full() && m.Disk != 0 && m.HasRole(role) {
			ds = append(ds, m.Disk)
		}
	}
	slices.Sort(ds)
	return slices.Compact(ds)
}

// OnDisk returns the voters that have a disk, oldest first.
func (v *View) OnDisk() []Member {
	return slices.DeleteFunc(v.Voters(), func(m Member) bool { return m.Disk == 0 })
}

// rolesOfVoters returns the roles of the view's voters, sorted.
func rolesOfVoters(v *View) []string {
	var rs []string
	for _, m := range v.Members {
		if m.Full() {
			rs = append(rs, m.Roles...)
		}
	}
	slices.Sort(rs)
	return slices.Compact(rs)
}

// Own returns the view's own disks, role by role.
func (v *View) Own() (sets []DiskSet) {
	for _, r := range rolesOfVoters(v) {
		if ds := v.Disks(r); len(ds) > 0 {
			sets = append(sets, DiskSet{Epoch: v.Epoch, Role: r, Disks: ds})
		}
	}
	return sets
}

// Witnesses returns the disks that may know what no other does: those of the views that were not
// settled when the view was decided, and its own.
func (v *View) Witnesses() []DiskSet { return slices.Concat(v.Unsettled, v.Own()) }

// SetsSince leaves out the sets of views before an epoch that is settled.
func SetsSince(sets []DiskSet, settled Epoch) []DiskSet {
	return slices.DeleteFunc(slices.Clone(sets), func(s DiskSet) bool { return s.Epoch < settled })
}

// Inherit makes the view remember the witnesses of its parent, except those that a later set
// repeats. A founding view remembers those before the cold start, even if its own disks are the
// same: they may hold different things.
func (v *View) Inherit(sets []DiskSet) {
	var later, kept []DiskSet
	if !v.Founded {
		later = v.Own()
	}
	bytes := 0
	for _, s := range slices.Backward(sets) {
		if slices.ContainsFunc(later, s.same) {
			continue
		}
		if bytes += s.bytesOf(); len(kept) == SetsMax || bytes > roomOfSets {
			break
		}
		later, kept = append(later, s), append(kept, s)
	}
	slices.Reverse(kept)
	v.Unsettled = kept
}
