package view

import (
	"fmt"
	"slices"
)

// This file bounds a view in bytes, so that a view that is legal can be stored and sent. Four
// things have to hold it:
//
//	the record   the last view and one that was accepted since   lmdb.NoteMax
//	a message    one view                                         a frame of the Control lane
//	a probe      what the record says of both views' disks        a frame of the Control lane
//	the arbiter  one view                                         what a locks.Store keeps
//
// Members take at most roomOfMembers together, the disks of one view roomOfDisks, the sets of
// disks that a view remembers roomOfSets, and the lines of services roomOfLines. A join that does not
// fit is refused, and a service that does not fit has no line. A removal always fits: it makes the
// members fewer, and the oldest sets are forgotten when there is no room for the newest.

// bytesOf bounds the encoded size of a member in any status.
func (m Member) bytesOf() int {
	n := 64 + len(m.Addr) + len(m.AppVersion)
	for _, r := range m.Roles {
		n += 3 + len(r)
	}
	return n
}

// Upper bounds of what encodings take.
const (
	diskBytes = 9  // a disk in a set
	setBytes  = 24 // what a set takes beside its role and its disks
	lineBytes = 56 // what a line takes beside its service's role and name
)

// bytesOf bounds the encoded size of a set.
func (s DiskSet) bytesOf() int { return setBytes + len(s.Role) + diskBytes*len(s.Disks) }

// Room is what members take of what a view has room for.
type Room struct {
	count, members, disks int
	roles                 map[string]bool // each is a set of the view's own disks
}

// RoomFor returns what members take; why is not empty when they are too many.
func RoomFor(members []Member) (r *Room, why string) {
	r = &Room{roles: make(map[string]bool)}
	for _, m := range members {
		if why = r.Add(m); why != "" {
			return r, why
		}
	}
	return r, ""
}

// Add makes room for one more; when it says why there is none, nothing has changed.
func (r *Room) Add(m Member) (why string) {
	members, disks := r.members+m.bytesOf(), r.disks
	for _, role := range m.Roles {
		if disks += diskBytes; !r.roles[role] {
			disks += setBytes + len(role)
		}
	}
	switch {
	case r.count >= MembersMax:
		return fmt.Sprintf("more than %d members", MembersMax)
	case members > roomOfMembers:
		return fmt.Sprintf("%d members with addresses, roles and versions of %d bytes together, more than %d",
			r.count+1, members, roomOfMembers)
	case disks > roomOfDisks:
		return fmt.Sprintf("%d members with roles whose lists of disks take %d bytes, more than %d",
			r.count+1, disks, roomOfDisks)
	}
	r.count, r.members, r.disks = r.count+1, members, disks
	for _, role := range m.Roles {
		r.roles[role] = true
	}
	return ""
}

// NoRoom says why a joiner has no room beside the members, without those whose place it takes;
// empty = it has.
func (v *View) NoRoom(n Member) string {
	stay := slices.DeleteFunc(slices.Clone(v.Members), func(o Member) bool { return n.Replaces(o) })
	_, why := RoomFor(append(stay, n))
	return why
}

// RoomForSets reports whether sets leave half of their room to others. No node becomes a voter
// otherwise: what is left is for removals, which cannot wait.
func RoomForSets(sets []DiskSet) bool {
	return len(sets) < SetsMax/2 && bytesOfSets(sets) < roomOfSets/2
}

// bytesOfSets bounds the encoded size of sets.
func bytesOfSets(sets []DiskSet) (n int) {
	for _, s := range sets {
		n += s.bytesOf()
	}
	return n
}
