package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Change says a view to nodes that have its parent, in bytes that go with what has changed: of two
// views of a thousand members, most is the same. A node that lacks the parent cannot read it, and
// asks for the whole.
type Change struct {
	_    struct{} `cbor:",toarray"`
	View *View    // without the members that the parent has alike, and the disks of sets that the parent knows
	Gone []UID    // members of the parent that the view lacks, sorted
	Hash Hash     // of the whole view
}

// ChangeTo returns what a child of the view says, as a Change.
func (i *Installed) ChangeTo(child *View) *Change {
	few := *child
	c := &Change{View: &few, Hash: child.Hash()}
	few.Members = []Member{}
	for was, is := range Beside(i.Members, child.Members) {
		switch {
		case is == nil:
			c.Gone = append(c.Gone, was.UID)
		case was == nil || !was.equal(*is):
			few.Members = append(few.Members, *is)
		}
	}
	few.Unsettled = slices.Clone(child.Unsettled)
	known := i.Witnesses()
	for k, s := range few.Unsettled {
		if slices.ContainsFunc(known, s.Equal) {
			few.Unsettled[k].Disks = nil
		}
	}
	return c
}

// equal reports whether both say the same.
func (m Member) equal(o Member) bool {
	return m.UID == o.UID && m.Addr == o.Addr && slices.Equal(m.Roles, o.Roles) && m.AppVersion == o.AppVersion &&
		m.Status == o.Status && m.UpNumber == o.UpNumber && m.Disk == o.Disk && m.Formats == o.Formats
}

// ErrOtherParent is the error of a change of another view than the installed one.
var ErrOtherParent = errors.New("view: a change of another view")

// Child returns the whole view that a change of this one says. The error is ErrOtherParent, or says
// what makes no sense.
func (i *Installed) Child(c *Change) (*View, error) {
	if c.View.Cluster != i.Cluster || c.View.Parent != i.Digest {
		return nil, ErrOtherParent
	}
	v := *c.View
	v.Members = make([]Member, 0, len(i.Members)+len(c.View.Members))
	for was, is := range Beside(i.Members, c.View.Members) {
		if is != nil {
			v.Members = append(v.Members, *is)
		} else if _, gone := slices.BinarySearch(c.Gone, was.UID); !gone {
			v.Members = append(v.Members, *was)
		}
	}
	v.Unsettled = slices.Clone(c.View.Unsettled)
	known := i.Witnesses()
	for k, s := range v.Unsettled {
		if len(s.Disks) > 0 {
			continue
		}
		at := slices.IndexFunc(known, func(o DiskSet) bool { return compareSets(o, s) == 0 })
		if at < 0 {
			return nil, fmt.Errorf("view: a change names the disks of %v/%s, which are not known", s.Epoch, s.Role)
		}
		v.Unsettled[k] = known[at]
	}
	if err := v.Check(); err != nil {
		return nil, err
	}
	if v.Hash() != c.Hash {
		return nil, errors.New("view: a change does not add up to its view")
	}
	return &v, nil
}

// Check holds a change to its bounds. What it says of the parent, Child looks at.
func (c *Change) Check() error {
	if c == nil || c.View == nil || c.View.Cluster == 0 || c.View.Epoch < 2 {
		return errors.New("change without a view, a cluster or an epoch after another")
	}
	v := c.View
	if len(v.Members) > MembersMax || len(v.Unsettled) > SetsMax || bytesOfSets(v.Unsettled) > roomOfSets {
		return errors.New("change above limits")
	}
	if !slices.IsSortedFunc(v.Members, func(a, b Member) int { return cmp.Compare(a.UID, b.UID) }) {
		return errors.New("change: members not in order")
	}
	for _, m := range v.Members {
		if err := m.Check(); err != nil {
			return err
		}
	}
	return CheckSorted(c.Gone, MembersMax)
}

// String prints the change in one line.
func (c *Change) String() string { return fmt.Sprintf("%v without %v", c.View, c.Gone) }
