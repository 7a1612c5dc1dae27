package ddata

import (
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
)

// newAdmission bounds what other nodes have waiting in front of one machine.
func newAdmission(n *Node) *runloop.Admission {
	member := func(node uint64) bool { return n.View().Has(view.UID(node)) }
	return runloop.NewAdmission(member, func() { n.net.CountDrop(transport.DropInbox, 1) })
}
