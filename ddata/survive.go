package ddata

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/locks"
)

// panicked counts a panic of the user's code that the node has survived, and tells of the first,
// the second, the fourth and so on: one defect may show with every step of a machine.
func (n *Node) panicked(in string, value any, stack []byte) {
	if k := n.panics.Add(1); k&(k-1) == 0 {
		n.emit(events.UserCodePanicked{In: in, Panic: fmt.Sprint(value), Stack: string(stack), SoFar: k})
	}
}

// leases is Config.Leases, whose panics are errors of the call.
func (n *Node) leases() locks.Store {
	return locks.Guarded(n.cfg.Leases, func(p locks.Panic) { n.panicked(p.Call+" of Config.Leases", p.Value, p.Stack) })
}
