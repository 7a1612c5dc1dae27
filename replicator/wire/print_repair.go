package wire

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
)

// String prints the message on one line.
func (m *Pull) String() string {
	return fmt.Sprintf("pull@%d %v session %x content %s", m.Epoch, m.Space, m.Session, ClockName(m.Content))
}

// String prints the message on one line.
func (m *Head) String() string {
	return fmt.Sprintf("head@%d %v session %x clock %s items %d",
		m.Epoch, m.Space, m.Session, ClockName(m.Clock), m.Items)
}

// String prints the message on one line.
func (m *MoreCells) String() string {
	return fmt.Sprintf("more@%d %v session %x key %x cells %d+%d", m.Epoch, m.Space, m.Session, m.Key, m.From, m.Count)
}

// String prints the message on one line.
func (m *Cells) String() string {
	return fmt.Sprintf("cells@%d %v session %x key %x cells %d+%d",
		m.Epoch, m.Space, m.Session, m.Key, m.From, len(m.Cells))
}

// String prints the message on one line.
func (m *FetchItems) String() string {
	s := fmt.Sprintf("want@%d %v session %x.%d %v %s", m.Epoch, m.Space, m.Session, m.ID, m.Kind, ClockName(m.Dots))
	if len(m.Sizes) > 0 {
		s += fmt.Sprintf(" in %d runs", len(m.Sizes)+1)
	}
	return s
}

// String prints the message on one line.
func (m *Items) String() string {
	s := fmt.Sprintf("give@%d %v session %x.%d", m.Epoch, m.Space, m.Session, m.ID)
	if m.Names != nil {
		s += " names " + ClockName(m.Names)
	}
	if len(m.Sums) > 0 {
		s += fmt.Sprintf(" sums %d", len(m.Sums))
	}
	if len(m.Items) > 0 {
		s += fmt.Sprintf(" items %d", len(m.Items))
	}
	if m.UpTo != (crdt.Dot{}) {
		s += fmt.Sprintf(" up to %s:%d", Short(m.UpTo.Origin), m.UpTo.Seq)
	}
	return s
}

// String prints the message on one line.
func (m *Done) String() string {
	return fmt.Sprintf("done@%d %v session %x", m.Epoch, m.Space, m.Session)
}

// String prints the message on one line.
func (m *Refuse) String() string {
	return fmt.Sprintf("refuse@%d %v session %x", m.Epoch, m.Space, m.Session)
}
