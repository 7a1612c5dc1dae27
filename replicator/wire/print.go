package wire

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// String prints the message on one line.
func (m *Push) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "push@%d %v%s", m.Epoch, m.Space, Flags("fill", m.Fill, "more", m.More))
	if m.Asks != 0 {
		fmt.Fprintf(&b, " asks #%d", m.Asks)
	}
	for i, g := range m.Groups {
		if i == 4 && len(m.Groups) > 5 {
			fmt.Fprintf(&b, " …%d groups", len(m.Groups)-i)
			break
		}
		b.WriteString(" " + groupName(g))
	}
	return b.String()
}

// String prints the message on one line.
func (m *Ack) String() string {
	s := fmt.Sprintf("ack@%d %v %d", m.Epoch, m.Space, m.Acked)
	if m.Content != m.Acked {
		s += fmt.Sprintf(" content %d", m.Content)
	}
	if m.Echo != m.Content {
		s += fmt.Sprintf(" echo %d", m.Echo)
	}
	if m.Answers != 0 {
		s += fmt.Sprintf(" answers #%d", m.Answers)
	}
	if m.Extra != nil {
		s += " extra " + ClockName(m.Extra)
	}
	return s
}

// String prints the message on one line.
func (m *Unstored) String() string {
	return fmt.Sprintf("unstored@%d upTo %d acked %d: %s", m.Epoch, m.UpTo, m.Acked, m.Why)
}

// String prints the message on one line.
func (m *Holdings) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status@%d%s", m.Epoch, Flags("ask", m.Ask))
	for i, s := range m.Spaces {
		fmt.Fprintf(&b, " %v{%x %x settled %d%s}",
			keyspace.Space(i), s.Hash[:2], s.Digest[0]>>48, s.Settled, Flags("acked", s.Acked))
	}
	return b.String()
}

// String prints the message on one line.
func (m *Clock) String() string {
	s := fmt.Sprintf("clock@%d %v%s %s", m.Epoch, m.Space, Flags("ask", m.Ask), ClockName(m.Content))
	if m.Acked != nil {
		s += " acked " + ClockName(m.Acked)
	}
	return s
}

// String prints the message on one line.
func (m *Fetch) String() string {
	return fmt.Sprintf("fetch@%d %v %s", m.Epoch, m.Space, ClockName(m.Dots))
}

// String prints the message on one line.
func (m *LogTruncated) String() string { return fmt.Sprintf("behind@%d %v", m.Epoch, m.Space) }

// String prints the message on one line.
func (m *Ask) String() string {
	return fmt.Sprintf("ask@%d %v #%d %x", m.Epoch, m.Space, m.ID, m.Hash[:2])
}

// String prints the message on one line.
func (m *Answer) String() string {
	if m.Extra == nil {
		return fmt.Sprintf("answer@%d %v #%d same", m.Epoch, m.Space, m.ID)
	}
	return fmt.Sprintf("answer@%d %v #%d extra %s", m.Epoch, m.Space, m.ID, ClockName(m.Extra))
}

// String prints the message on one line.
func (m *Compare) String() string {
	s := fmt.Sprintf("compare@%d %v #%d %x more %s keys %q",
		m.Epoch, m.Space, m.ID, m.Hash[:2], ClockName(m.More), m.Keys)
	if m.Hold > 0 {
		s += fmt.Sprintf(" hold %v", time.Duration(m.Hold)*time.Microsecond)
	}
	return s
}

// String prints the message on one line.
func (m *Compared) String() string {
	s := fmt.Sprintf("compared@%d %v #%d", m.Epoch, m.Space, m.ID)
	switch {
	case !m.Known:
		return s + " unknown clock"
	case m.Extra == nil && m.Lacks == nil:
		return s + " same"
	}
	if m.Extra != nil {
		s += " extra " + ClockName(m.Extra)
	}
	if m.Lacks != nil {
		s += " lacks " + ClockName(m.Lacks)
	}
	if len(m.Differ) > 0 {
		s += fmt.Sprintf(" differ %v", m.Differ)
	}
	return s
}

// String prints the message on one line.
func (m *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "report@%d %v%s", m.Epoch, m.Space, Flags("ask", m.Ask, "whole", m.Whole, "serves", m.Serves))
	if m.Disk != 0 {
		fmt.Fprintf(&b, " disk %x", m.Disk)
	}
	if m.Acked != nil {
		fmt.Fprintf(&b, " %s", ClockName(m.Acked))
	} else {
		fmt.Fprintf(&b, " %x", m.Hash[:2])
	}
	fmt.Fprintf(&b, " settled %d", m.Settled)
	for _, p := range m.Known {
		b.WriteString(" " + pastName(p))
	}
	return b.String()
}

// pastName prints a view as epoch:[voters].
func pastName(p quorum.PastView) string {
	if len(p.Disks) > 0 {
		return fmt.Sprintf("%d:disks%x", p.Epoch, p.Disks)
	}
	names := make([]string, len(p.Voters))
	for i, v := range p.Voters {
		names[i] = Short(v)
	}
	return fmt.Sprintf("%d:[%s]", p.Epoch, strings.Join(names, " "))
}

// String prints the message on one line.
func (m *Part) String() string {
	return fmt.Sprintf("part@%d flow %d %d/%d bytes %d", m.Epoch, m.Flow, m.Index, m.Total, len(m.Data))
}

// String prints the message on one line.
func (m *PartAck) String() string {
	return fmt.Sprintf("partack@%d flow %d %d", m.Epoch, m.Flow, m.Next)
}

// Flags prints the names, each preceded by a space, whose flag is set; it takes name, flag, name,
// flag and so on.
func Flags(pairs ...any) string {
	s := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		if on, _ := pairs[i+1].(bool); on {
			s += fmt.Sprint(" ", pairs[i])
		}
	}
	return s
}

// groupName prints the dots of a group: origin:first or origin:first-last.
func groupName(g crdt.Group) string {
	if len(g) == 0 {
		return "empty"
	}
	if len(g) == 1 {
		return fmt.Sprintf("%s:%d", Short(g[0].Dot.Origin), g[0].Dot.Seq)
	}
	return fmt.Sprintf("%s:%d-%d", Short(g[0].Dot.Origin), g[0].Dot.Seq, g.Last().Seq)
}

// ClockName prints a clock as origin:first-last, short ids, nil as none. Origins that are over stand
// as first-last:1-.
func ClockName(c *crdt.Clock) string {
	if c == nil {
		return "none"
	}
	var parts []string
	for r := range c.Ranges() {
		if len(parts) == 12 {
			parts = append(parts, "…")
			break
		}
		switch {
		case r.Through != 0:
			parts = append(parts, fmt.Sprintf("%s-%s:%d-", Short(r.Origin), Short(r.Through), r.First))
		case r.First == r.Last:
			parts = append(parts, fmt.Sprintf("%s:%d", Short(r.Origin), r.First))
		default:
			parts = append(parts, fmt.Sprintf("%s:%d-%d", Short(r.Origin), r.First, r.Last))
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// Short prints an id as the logs do: the last eight hexadecimal digits of a large one, a small one as
// it is.
func Short(o crdt.Origin) string {
	if o > 0xffffffff {
		return fmt.Sprintf("%08x", uint32(o))
	}
	return fmt.Sprintf("%x", uint64(o))
}
