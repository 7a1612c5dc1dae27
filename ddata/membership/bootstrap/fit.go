package bootstrap

import (
	"fmt"
	"slices"
)

// Protocol is the version of the membership protocol. Members of one cluster speak the same.
const Protocol = 1

// Common is what all nodes of a cluster must have alike.
type Common struct {
	Name       string // of the cluster
	Addr       string // of this node, to tell where something differs
	Settings   []Setting
	ConfigHash uint64 // stands for the settings in views
}

// Mismatch compares what another node says of itself. The reason is zero when both fit.
func (c Common) Mismatch(p Probe) (Reason, string) {
	switch {
	case p.Name != c.Name:
		return ReasonName, fmt.Sprintf("cluster is named %q, the node says %q", c.Name, p.Name)
	case p.Protocol != Protocol:
		return ReasonProtocol, fmt.Sprintf("cluster speaks version %d, the node %d", Protocol, p.Protocol)
	case !slices.Equal(p.Settings, c.Settings):
		return ReasonConfig, differences(c.Addr, c.Settings, p.Self.Addr, p.Settings)
	}
	return 0, ""
}
