package view

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/format"
)

// Status is how far a member has come. It only moves forward; a member that is gone is absent from
// the view.
//
//	Joining ──caught up, MinMembers──► Up ──Leave──► Leaving ──stopped, settled──► (gone)
//	   └──────────── unreachable, Down ─┴──────────────┴────────────────────────► (gone)
type Status uint8

// The statuses of a member.
const (
	Joining Status = iota + 1 // in the view, replicates, counts nowhere, holds no lease
	Up                        // full member: its replicas count, it may run entities under its lease and vote
	Leaving                   // full member, hands over what it runs, goes when it has stopped
)

// String names the status.
func (s Status) String() string {
	switch s {
	case Joining:
		return "Joining"
	case Up:
		return "Up"
	case Leaving:
		return "Leaving"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Member is one incarnation of a node as a view lists it.
type Member struct {
	_          struct{} `cbor:",toarray"`
	UID        UID
	Addr       string   // host:port of its one listener
	Roles      []string // sorted, fixed for the incarnation
	AppVersion string   // the application's own version, for rolling updates; not compared
	Status     Status
	UpNumber   uint32 // age: assigned by the decision that made it a full member, never used again; 0 = a learner
	Disk       DiskID
	Formats    format.Range // the format levels that it speaks, fixed for the incarnation
}

// Full reports whether the member is more than a learner: Up and Leaving members are, and founders
// from the beginning. Full members count in the quorums of replicated data; which of them vote on
// views, View.Voters says.
func (m Member) Full() bool { return m.UpNumber != 0 }

// HasRole reports whether the member has the role. Every member has the empty role.
func (m Member) HasRole(role string) bool {
	return role == "" || slices.Contains(m.Roles, role)
}

// Replaces reports whether the two cannot be there at once: one address is one process, and so is
// one disk.
func (m Member) Replaces(o Member) bool { return m.Addr == o.Addr || m.Disk != 0 && m.Disk == o.Disk }

// Others yields the members except one.
func Others(members []Member, self UID) iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for i := range members {
			if o := &members[i]; o.UID != self && !yield(o) {
				return
			}
		}
	}
}

// Beside yields the members of two views, each sorted by UID: what each was, and what it is. nil says that it was
// not there, or is gone. A UID that one of the two lists twice comes twice.
func Beside(before, now []Member) iter.Seq2[*Member, *Member] {
	return func(yield func(was, is *Member) bool) {
		for i, j := 0, 0; i < len(before) || j < len(now); {
			var was, is *Member
			if j == len(now) || i < len(before) && before[i].UID <= now[j].UID {
				was = &before[i]
			}
			if i == len(before) || j < len(now) && now[j].UID <= before[i].UID {
				is = &now[j]
				j++
			}
			if was != nil {
				i++
			}
			if !yield(was, is) {
				return
			}
		}
	}
}

// String prints uid, address, status and age.
func (m Member) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v@%s %v", m.UID, m.Addr, m.Status)
	if m.UpNumber != 0 {
		fmt.Fprintf(&b, "#%d", m.UpNumber)
	}
	if len(m.Roles) > 0 {
		fmt.Fprintf(&b, " %s", strings.Join(m.Roles, ","))
	}
	return b.String()
}
