package bootstrap

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/format"
)

// Common is what all nodes of a cluster must have alike.
type Common struct {
	Name       string // of the cluster
	Addr       string // of this node, to tell where something differs
	Settings   []Setting
	ConfigHash uint64 // stands for the settings in views
	// Formats are the format levels that this node speaks. Another has to speak one of them.
	Formats format.Range
}

// Mismatch compares what another node says of itself. The reason is zero when both fit.
func (c Common) Mismatch(p Probe) (Reason, string) {
	switch {
	case p.Name != c.Name:
		return ReasonName, fmt.Sprintf("cluster is named %q, the node says %q", c.Name, p.Name)
	case format.Common(c.Formats, p.Self.Formats) == 0:
		return ReasonFormat, fmt.Sprintf("%s speaks format %v, and the node %v", c.Addr, c.Formats, p.Self.Formats)
	case !slices.Equal(p.Settings, c.Settings):
		return ReasonConfig, differences(c.Addr, c.Settings, p.Self.Addr, p.Settings)
	}
	return 0, ""
}
