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

// InCharge is the member that is in charge of a service; false: none offers it, or none has been
// listed yet.
func (v *View) InCharge(s Service) (Member, bool) {
	if l, ok := v.line(s); ok {
		return v.Member(l.Members[0])
	}
	return Member{}, false
}

func (v *View) line(s Service) (Line, bool) {
	i, ok := findLine(v.Lines, s)
	if !ok {
		return Line{}, false
	}
	return v.Lines[i], true
}

func findLine(lines []Line, s Service) (int, bool) {
	return slices.BinarySearchFunc(lines, s, func(l Line, s Service) int { return l.Service.Compare(s) })
}

// Lists reports whether it makes no difference that a member offers a service: it is in the line, or
// there is no room for it.
func (v *View) Lists(s Service, u UID) bool {
	l, ok := v.line(s)
	if !ok {
		return !hasRoomFor(v.Lines, Line{Service: s})
	}
	return len(l.Members) >= LineMax || slices.Contains(l.Members, u)
}

// RefusesService says why a service gets no line; empty: it has one, or can have one.
func (v *View) RefusesService(s Service) string {
	if _, ok := v.line(s); ok || hasRoomFor(v.Lines, Line{Service: s}) {
		return ""
	}
	return fmt.Sprintf("a view has to be stored and sent, and has no room for more than %d services, or for more "+
		"than %d bytes of their names", LinesMax, roomOfLines)
}

func hasRoomFor(lines []Line, l Line) bool {
	return len(lines) < LinesMax && bytesOfLines(lines)+l.bytesOf() <= roomOfLines
}

func bytesOfLines(lines []Line) (n int) {
	for _, l := range lines {
		n += l.bytesOf()
	}
	return n
}

// Enlist takes members that are gone out of the lines, and lets those in that are Up or Leaving and
// offer a service, the oldest first. It reports whether it has let any in. The view is not handed out yet.
func (v *View) Enlist(offers func(UID) []Service) (changed bool) {
	gone := func(u UID) bool { return !v.Has(u) }
	if slices.ContainsFunc(v.Lines, func(l Line) bool { return slices.ContainsFunc(l.Members, gone) }) {
		var lines []Line
		for _, l := range v.Lines {
			if l.Members = slices.DeleteFunc(slices.Clone(l.Members), gone); len(l.Members) > 0 {
				lines = append(lines, l)
			}
		}
		v.Lines = lines
	}
	enters := func(m Member, s Service) bool {
		return m.Full() && m.Status != Joining && m.HasRole(s.Role) && !v.Lists(s, m.UID)
	}
	if !slices.ContainsFunc(v.Members, func(m Member) bool {
		return slices.ContainsFunc(offers(m.UID), func(s Service) bool { return enters(m, s) })
	}) {
		return false
	}
	for _, m := range v.Full() {
		for _, s := range offers(m.UID) {
			if enters(m, s) {
				v.enlist(s, m.UID)
			}
		}
	}
	return true
}

// enlist puts a member at the end of a line. The lines of the parent stay as they are.
func (v *View) enlist(s Service, u UID) {
	i, ok := findLine(v.Lines, s)
	v.Lines = slices.Clone(v.Lines)
	if !ok {
		v.Lines = slices.Insert(v.Lines, i, Line{Service: s})
	}
	v.Lines[i].Members = append(slices.Clip(v.Lines[i].Members), u)
}

// checkLines holds the lines to their invariants.
func (v *View) checkLines() error {
	services := make([]Service, 0, len(v.Lines))
	for _, l := range v.Lines {
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
	if bytesOfLines(v.Lines) > roomOfLines {
		return errors.New("view: too many services")
	}
	if err := CheckServices(services); err != nil {
		return fmt.Errorf("view: %w", err)
	}
	return nil
}

// printLines appends the lines to what String prints.
func (v *View) printLines(b *strings.Builder) {
	for _, l := range v.Lines {
		fmt.Fprintf(b, " %v %v", l.Service, l.Members)
	}
}
