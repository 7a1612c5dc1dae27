package ddata

import (
	"github.com/coterie-go/coterie/ddata/drive"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// newIntake bounds what other nodes have waiting in front of one machine.
func newIntake(n *Node) *drive.Intake {
	member := func(node uint64) bool { return n.View().Has(membership.UID(node)) }
	return drive.NewIntake(member, func() { n.net.CountDrop(transport.DropInbox, 1) })
}
