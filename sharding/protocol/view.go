package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Status is where a member stands in its life.
type Status uint8

// Statuses of a member; one that is gone is absent from the view.
const (
	Joining Status = iota
	Up
	Leaving
)

// String names the status.
func (s Status) String() string {
	switch s {
	case Joining:
		return "joining"
	case Up:
		return "up"
	case Leaving:
		return "leaving"
	}
	return fmt.Sprintf("Status(%d)", uint8(s))
}

// Member is what the machines need to know of a member of the view.
type Member struct {
	UID        UID
	Role       bool // has the role of the type, so it may host and coordinate
	Status     Status
	UpNumber   uint32
	AppVersion string
}

// View is what the machines need of an installed view of the membership.
type View struct {
	Epoch       uint64
	Members     []Member // by UID
	Coordinator UID      // the oldest member with the role; 0: there is none
}

// Member finds a member.
func (v *View) Member(u UID) (Member, bool) {
	i, ok := slices.BinarySearchFunc(v.Members, u, func(m Member, u UID) int {
		switch {
		case m.UID < u:
			return -1
		case m.UID > u:
			return 1
		}
		return 0
	})
	if !ok {
		return Member{}, false
	}
	return v.Members[i], true
}

// Has says whether u is a member.
func (v *View) Has(u UID) bool { _, ok := v.Member(u); return ok }

// String prints the view on one line.
func (v *View) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "view %d coordinator=%v", v.Epoch, v.Coordinator)
	for _, m := range v.Members {
		fmt.Fprintf(&b, " %v:%v", m.UID, m.Status)
		if !m.Role {
			b.WriteString(":norole")
		}
		if m.AppVersion != "" {
			fmt.Fprintf(&b, ":%s", m.AppVersion)
		}
	}
	return b.String()
}
