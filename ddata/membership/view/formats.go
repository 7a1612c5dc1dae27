package view

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/format"
)

// Writes reports whether what a format level has brought is written: all members can read it. A node
// without a view, which is nil, writes what every level has.
func Writes(v *View, l format.Level) bool { return v != nil && v.Format >= l }

// Spoken returns the highest format level that all members speak; 0 if there is none, or no member.
func Spoken(members []Member) format.Level {
	if len(members) == 0 {
		return 0
	}
	all := members[0].Formats
	for _, m := range members[1:] {
		all = format.Range{Min: max(all.Min, m.Formats.Min), Max: min(all.Max, m.Formats.Max)}
	}
	return format.Common(all, all)
}

// checkFormats holds the format level of a view to what its members speak. View.Check does not: a node
// that does not speak the level of a view says so when it ends.
func checkFormats(v *View) error {
	for _, m := range v.Members {
		if err := m.Formats.Speaks("the view", v.Format); err != nil {
			return fmt.Errorf("member %v: %w", m.UID, err)
		}
	}
	return nil
}
