package protocol_test

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// lent names the holder of a lease of the store on the stage: a node's machine, or an outside
// holder.
type lent struct {
	who  string
	lose func() // tells a machine that it has lost it
}

func shardName(s protocol.ShardID) string { return "shard " + s.String() }

const coordinatorName = "coordinator"

// leaseOps carries out what a machine wants of its lease, in order.
func (st *stage) leaseOps(who, name string, ops []protocol.LeaseOp, tell func(granted, refused, lost any)) {
	for _, op := range ops {
		st.offer("lease", fmt.Sprintf("%s %s: %v", who, name, op), func() { st.leaseOp(who, name, op, tell) })
	}
}

func (st *stage) leaseOp(who, name string, op protocol.LeaseOp, tell func(granted, refused, lost any)) {
	l, taken := st.lent[name]
	switch {
	case !op.Acquire:
		if l.who == who {
			delete(st.lent, name)
		}
		if name != coordinatorName {
			tell(protocol.LeaseReleased{Gen: op.Gen}, nil, nil)
		}
	case st.fail["lease"] || st.fail["lease "+who]:
		tell(nil, protocol.LeaseRefused{Gen: op.Gen, Text: "store cannot be reached"}, nil)
	case taken && l.who != who:
		tell(nil, protocol.LeaseRefused{Gen: op.Gen}, nil)
	default:
		st.lent[name] = lent{who: who, lose: func() {
			tell(nil, nil, protocol.LeaseLost{Gen: op.Gen, Text: "it was taken away"})
		}}
		tell(protocol.LeaseGranted{Gen: op.Gen}, nil, nil)
	}
}

// occupy gives a lease to somebody outside of the cluster: "occupy 2", "occupy coordinator".
func (st *stage) occupy(args []string) {
	name := args[0]
	if name != coordinatorName {
		name = shardName(number32(name))
	}
	l := st.lent[name]
	st.lent[name] = lent{who: "outside"}
	if l.lose != nil {
		l.lose()
	}
}

func (st *stage) vacate(args []string) {
	name := args[0]
	if name != coordinatorName {
		name = shardName(number32(name))
	}
	delete(st.lent, name)
}

func (st *stage) coordinatorLease(a *actor, ops []protocol.LeaseOp) {
	st.leaseOps(fmt.Sprint(a.uid), coordinatorName, ops, func(granted, refused, lost any) {
		for _, in := range []any{granted, refused, lost} {
			if in != nil && st.nodes[a.uid] == a {
				st.coordinator(a, in.(protocol.CoordinatorInput))
			}
		}
	})
}

func (st *stage) shardLease(a *actor, s protocol.ShardID, ops []protocol.LeaseOp, mine func(protocol.ShardInput)) {
	st.leaseOps(fmt.Sprint(a.uid), shardName(s), ops, func(granted, refused, lost any) {
		for _, in := range []any{granted, refused, lost} {
			if in != nil {
				mine(in.(protocol.ShardInput))
			}
		}
	})
}
