package ddata

import (
	"sync"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// What others' messages may have waiting in front of a machine, in messages. A member that floods loses its own, and those who are no members share
// one small part, so that none of them crowds a member out.
const (
	memberShare    = 4096
	strangersShare = 1024
)

// intake counts the messages of others that wait in front of a machine. Its methods may be called from any goroutine.
type intake struct {
	n *Node

	mu        sync.Mutex
	waiting   map[transport.NodeID]int // of members
	strangers int
}

// parcel is the place of one message; the zero parcel has none.
type parcel struct {
	in     *intake
	member transport.NodeID // 0: a stranger's
}

func newIntake(n *Node) *intake { return &intake{n: n, waiting: map[transport.NodeID]int{}} }

// admit finds a place for a message; false says that there is none, which was counted.
func (i *intake) admit(from transport.NodeID) (parcel, bool) {
	member := i.n.View().Has(membership.UID(from))
	i.mu.Lock()
	defer i.mu.Unlock()
	if member && i.waiting[from] < memberShare {
		i.waiting[from]++
		return parcel{i, from}, true
	}
	if !member && i.strangers < strangersShare {
		i.strangers++
		return parcel{in: i}, true
	}
	i.n.crowdedOut.Add(1)
	return parcel{}, false
}

// taken gives the place back.
func (p parcel) taken() {
	if p.in == nil {
		return
	}
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.member == 0 {
		p.in.strangers--
	} else if p.in.waiting[p.member]--; p.in.waiting[p.member] == 0 {
		delete(p.in.waiting, p.member)
	}
}

// transportStats are the counts of the transport, with what was given up behind it.
func (n *Node) transportStats() transport.Stats {
	s := n.net.Stats()
	s.Dropped[transport.DropInbox] += n.crowdedOut.Load()
	return s
}
