package view

import (
	"cmp"
	"errors"
	"fmt"
)

// Check holds a member to its bounds.
func (m Member) Check() error {
	switch {
	case m.UID == 0:
		return errors.New("member without uid")
	case m.Addr == "" || len(m.Addr) > AddrMax:
		return fmt.Errorf("member %v: bad address", m.UID)
	case len(m.AppVersion) > NameMax || len(m.Roles) > RolesMax:
		return fmt.Errorf("member %v: above limits", m.UID)
	case m.Status < Joining || m.Status > Leaving:
		return fmt.Errorf("member %v: %v", m.UID, m.Status)
	case m.Status != Joining && m.UpNumber == 0:
		return fmt.Errorf("member %v: %v without number", m.UID, m.Status)
	}
	for i, r := range m.Roles {
		if r == "" || len(r) > NameMax || i > 0 && m.Roles[i-1] >= r {
			return fmt.Errorf("member %v: bad roles", m.UID)
		}
	}
	if err := m.Formats.Check(); err != nil {
		return fmt.Errorf("member %v: %w", m.UID, err)
	}
	return nil
}

// Check holds a view to its invariants.
func (v *View) Check() error {
	if v == nil {
		return errors.New("no view")
	}
	if v.Format == 0 || v.Cluster == 0 || v.Epoch == 0 || len(v.Members) == 0 || len(v.Members) > MembersMax {
		return errors.New("view without format level, cluster, epoch or members")
	}
	if _, why := RoomFor(v.Members); why != "" {
		return errors.New("view: " + why)
	}
	if bytesOfSets(v.Unsettled) > roomOfSets {
		return errors.New("view: too many disks")
	}
	addrs := make(map[string]bool, len(v.Members))
	ups := make(map[uint32]bool, len(v.Members))
	for i, m := range v.Members {
		if err := m.Check(); err != nil {
			return err
		}
		if i > 0 && v.Members[i-1].UID >= m.UID {
			return errors.New("view: members not in order")
		}
		if addrs[m.Addr] || m.UpNumber > v.LastUp || m.Full() && ups[m.UpNumber] {
			return fmt.Errorf("view: address or number of %v not unique", m)
		}
		addrs[m.Addr] = true
		ups[m.UpNumber] = true
	}
	if delete(ups, 0); len(ups) == 0 {
		return errors.New("view without voters")
	}
	if n := len(v.Unsettled); n > 0 && v.Unsettled[n-1].Epoch >= v.Epoch {
		return errors.New("view: disks of a later one")
	}
	return errors.Join(CheckSets(v.Unsettled, SetsMax), checkMoves(v), v.Lines.check(v), v.Ages.check(v))
}

// CheckSets holds sets to their order, by epoch, then by role, and to their bounds.
func CheckSets(sets []DiskSet, most int) error {
	if len(sets) > most {
		return errors.New("too many sets of disks")
	}
	for i, s := range sets {
		if len(s.Disks) == 0 || len(s.Role) > NameMax || i > 0 && compareSets(sets[i-1], s) >= 0 {
			return errors.New("sets of disks empty or not in order")
		}
		if err := CheckSorted(s.Disks, MembersMax); err != nil {
			return err
		}
	}
	return nil
}

func compareSets(a, b DiskSet) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Role, b.Role))
}

// CheckSorted holds ids to their order and to a number.
func CheckSorted[T ~uint64](s []T, most int) error {
	if len(s) > most {
		return errors.New("too many ids")
	}
	for i, x := range s {
		if x == 0 || i > 0 && s[i-1] >= x {
			return errors.New("ids not in order")
		}
	}
	return nil
}
