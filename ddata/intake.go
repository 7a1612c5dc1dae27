package ddata

import (
	"github.com/coterie-go/coterie/ddata/drive"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// newIntake bounds what other nodes have waiting in front of one machine.
func newIntake(n *Node) *drive.Intake {
	member := func(node uint64) bool { return n.View().Has(membership.UID(node)) }
	return drive.NewIntake(member, func() { n.crowdedOut.Add(1) })
}

// transportStats are the counts of the transport, with what was given up behind it.
func (n *Node) transportStats() transport.Stats {
	s := n.net.Stats()
	s.Dropped[transport.DropInbox] += n.crowdedOut.Load()
	return s
}
