package exchange

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/wire"
)

// arrived is pushes in the order in which they came, the first of which may have been applied in part. Windows bound
// what a peer sends before it has an ack, and arrivedMax what does not keep to that.
type arrived struct{ pushes []arrival }

// arrival is one push.
type arrival struct {
	from    crdt.Origin
	msg     *wire.Push
	next    int  // of its groups
	applied bool // one of them was
}

// arrivedMax bounds the pushes that wait.
const arrivedMax = 1024

// add takes a push, unless too many wait.
func (q *arrived) add(from crdt.Origin, msg *wire.Push) bool {
	if len(q.pushes) == arrivedMax {
		return false
	}
	q.pushes = append(q.pushes, arrival{from: from, msg: msg})
	return true
}

// pop drops the first.
func (q *arrived) pop() {
	if q.pushes[0] = (arrival{}); len(q.pushes) == 1 {
		q.pushes = q.pushes[:0]
		return
	}
	q.pushes = q.pushes[1:]
}

// forget drops the groups of origins that are gone. The message itself may be shared with others.
func (q *arrived) forget(gone func(crdt.Origin) bool) {
	for i := range q.pushes {
		a := &q.pushes[i]
		msg := *a.msg
		msg.Groups = slices.DeleteFunc(slices.Clone(msg.Groups[a.next:]), func(g crdt.Group) bool {
			return len(g) > 0 && gone(g[0].Dot.Origin)
		})
		a.msg, a.next = &msg, 0
	}
}

// check returns a broken invariant.
func (q *arrived) check() error {
	if len(q.pushes) > arrivedMax {
		return fmt.Errorf("%d pushes wait", len(q.pushes))
	}
	return nil
}
