package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Service names something of which one member at a time is in charge, such as the coordinator of an
// entity type. Members with the role offer it.
type Service struct {
	_    struct{} `cbor:",toarray"`
	Role string   // "" = all members
	Name string
}

// String prints the name, and the role if there is one.
func (s Service) String() string {
	if s.Role == "" {
		return s.Name
	}
	return s.Name + "@" + s.Role
}

// Compare orders services by role, then by name.
func (s Service) Compare(o Service) int {
	return cmp.Or(cmp.Compare(s.Role, o.Role), cmp.Compare(s.Name, o.Name))
}

// Check holds the service to its bounds.
func (s Service) Check() error {
	if s.Name == "" || len(s.Name) > ServiceNameMax || len(s.Role) > NameMax {
		return fmt.Errorf("service %.40q: its name has %d bytes, want 1 to %d, and its role %d, want at most %d",
			s.Name, len(s.Name), ServiceNameMax, len(s.Role), NameMax)
	}
	return nil
}

// CheckServices holds services to their order and bounds.
func CheckServices(all []Service) error {
	if len(all) > LinesMax {
		return errors.New("too many services")
	}
	for i, s := range all {
		if i > 0 && all[i-1].Compare(s) >= 0 {
			return errors.New("services not in order")
		}
		if err := s.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Lines are those of the services that members offer, sorted by service. They and what they refer to are
// not changed once they were handed out.
type Lines []Line

// Line is the members that offer a service, in the order in which views have listed them: the first
// is in charge. A member stays until it is gone. So a member that offers the service later, however
// old it is, takes nothing from the one that is in charge.
//
// Of those that offer a service a line has LineMax. The others come in when members of the line are
// gone.
type Line struct {
	_       struct{} `cbor:",toarray"`
	Service Service
	Members []UID
}

// bytesOf bounds the encoded size of a line, however many members it has.
func (l Line) bytesOf() int { return lineBytes + len(l.Service.Role) + len(l.Service.Name) }

// find returns where the line of a service is, or would be.
func (ls Lines) find(s Service) (i int, found bool) {
	return slices.BinarySearchFunc(ls, s, func(l Line, s Service) int { return l.Service.Compare(s) })
}

// of returns the members that are in the line of a service.
func (ls Lines) of(s Service) []UID {
	if i, ok := ls.find(s); ok {
		return ls[i].Members
	}
	return nil
}

// Settles reports whether it changes nothing any more that a member offers a service: it is in the line,
// or there is no room for it.
func (ls Lines) Settles(s Service, u UID) bool {
	in := ls.of(s)
	if len(in) == 0 {
		return !ls.hasRoomFor(s)
	}
	return len(in) >= LineMax || slices.Contains(in, u)
}

// Refuses says why a service gets no line; empty: it has one, or can have one.
func (ls Lines) Refuses(s Service) string {
	if len(ls.of(s)) > 0 || ls.hasRoomFor(s) {
		return ""
	}
	return fmt.Sprintf("a view has to be stored and sent, and has no room for more than %d services, or for more "+
		"than %d bytes of their names", LinesMax, roomOfLines)
}

func (ls Lines) hasRoomFor(s Service) bool {
	return len(ls) < LinesMax && ls.bytes()+Line{Service: s}.bytesOf() <= roomOfLines
}

func (ls Lines) bytes() (n int) {
	for _, l := range ls {
		n += l.bytesOf()
	}
	return n
}

// with returns the lines with a member at the end of one.
func (ls Lines) with(s Service, u UID) Lines {
	i, ok := ls.find(s)
	ls = slices.Clone(ls)
	if !ok {
		ls = slices.Insert(ls, i, Line{Service: s})
	}
	ls[i].Members = append(slices.Clip(ls[i].Members), u)
	return ls
}

// without returns the lines without members that are gone.
func (ls Lines) without(gone func(UID) bool) Lines {
	if !slices.ContainsFunc(ls, func(l Line) bool { return slices.ContainsFunc(l.Members, gone) }) {
		return ls
	}
	var left Lines
	for _, l := range ls {
		if l.Members = slices.DeleteFunc(slices.Clone(l.Members), gone); len(l.Members) > 0 {
			left = append(left, l)
		}
	}
	return left
}

// String prints the lines; nothing if there are none.
func (ls Lines) String() string {
	var b strings.Builder
	for _, l := range ls {
		fmt.Fprintf(&b, " %v %v", l.Service, l.Members)
	}
	return b.String()
}

// InCharge is the member that is in charge of a service; false: none offers it, or none has been
// listed yet.
func (v *View) InCharge(s Service) (Member, bool) {
	if in := v.Lines.of(s); len(in) > 0 {
		return v.Member(in[0])
	}
	return Member{}, false
}

// Enlist takes members that are gone out of the lines, and lets those in that are Up or Leaving and
// offer a service, the oldest first. It reports whether it has let any in. The view is not handed out
// yet.
func (v *View) Enlist(offers func(UID) []Service) (changed bool) {
	v.Lines = v.Lines.without(func(u UID) bool { return !v.Has(u) })
	for _, m := range v.Full() {
		for _, s := range offers(m.UID) {
			if m.Status != Joining && m.HasRole(s.Role) && !v.Lines.Settles(s, m.UID) {
				v.Lines = v.Lines.with(s, m.UID)
				changed = true
			}
		}
	}
	return changed
}

// check holds the lines of a view to their invariants.
func (ls Lines) check(v *View) error {
	services := make([]Service, 0, len(ls))
	for _, l := range ls {
		services = append(services, l.Service)
		if n := len(l.Members); n == 0 || n > LineMax {
			return fmt.Errorf("view: %d members in the line of %v, want 1 to %d", n, l.Service, LineMax)
		}
		for i, u := range l.Members {
			m, ok := v.Member(u)
			if !ok || m.Status == Joining || !m.HasRole(l.Service.Role) || slices.Contains(l.Members[:i], u) {
				return fmt.Errorf("view: %v is in the line of %v twice, or cannot offer it", u, l.Service)
			}
		}
	}
	if ls.bytes() > roomOfLines {
		return errors.New("view: too many services")
	}
	if err := CheckServices(services); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return nil
}
