package proptest

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
)

// story is what has happened in a world so far, told with the names of its incarnations.
type story struct {
	names map[crdt.Origin]string
	lines []string // a step each
}

// begin names the next incarnation of a replica, and returns its origin.
func (s *story) begin(name string) crdt.Origin {
	o := crdt.Origin(uint64(len(s.names)+1) * 0x9e3779b97f4a7c15)
	s.names[o] = name
	return o
}

// tell adds a step to the story.
func (s *story) tell(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// violation is a law that does not hold, with the steps that led there.
type violation struct {
	law   law
	what  string
	story []string
}

func (v *violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "law %s: %s\nafter", v.law, v.what)
	for i, line := range v.story {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, line)
	}
	return b.String()
}

// broken makes the error of a law that does not hold. Origins in its text get the names that the
// story uses.
func (s *story) broken(l law, format string, args ...any) error {
	var names []string
	for o, name := range s.names {
		names = append(names, o.String(), name)
	}
	return &violation{law: l, what: strings.NewReplacer(names...).Replace(fmt.Sprintf(format, args...)), story: s.lines}
}

// nameOf is the name of the present incarnation of n.
func (s *story) nameOf(n *node) string { return s.names[n.rep.Origin()] }

// dots names the events of a group.
func (s *story) dots(g crdt.Group) string {
	if len(g) == 1 {
		return fmt.Sprintf("%s:%d", s.names[g[0].Dot.Origin], g[0].Dot.Seq)
	}
	return fmt.Sprintf("%s:%d-%d", s.names[g.First().Origin], g.First().Seq, g.Last().Seq)
}

// outcome says what an update has made.
func (s *story) outcome(g crdt.Group) string {
	if g == nil {
		return ", no event"
	}
	return " = " + s.dots(g)
}
