package control

import (
	"fmt"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Probe lets a simulation look into the control planes of a node, and plant errors in them. It is
// attached to the node (host.Attach) before a type starts. The zero value does nothing.
type Probe struct {
	Defects defect.Set // planted by a test
	// Stepping is called before a machine takes an input. It may be nil.
	Stepping func(Machine)
	// Stepped is called with each input that a machine of c has taken, and its effects, before they
	// are carried out. shard is that of a Shard. It may be nil.
	Stepped func(c *Plane, m Machine, shard protocol.ShardID, in, fx any)
}

// Machine is a Coordinator, a Region or a Shard.
type Machine interface {
	fmt.Stringer
	// Check returns the first broken invariant.
	Check() error
}

// stepping tells that a machine is about to take an input. p may be nil.
func (p *Probe) stepping(m Machine) {
	if p != nil && p.Stepping != nil {
		p.Stepping(m)
	}
}

// stepped shows a step. p may be nil.
func (p *Probe) stepped(c *Plane, m Machine, shard protocol.ShardID, in, fx any) {
	if p != nil && p.Stepped != nil {
		p.Stepped(c, m, shard, in, fx)
	}
}
