package sim

import (
	"time"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/sim/builds"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/rollout"
)

// operator looks after a cluster that does not get well by itself.
type operator struct {
	w *World
	// expect is how many members it says that a founding needs; 0: the number of nodes at the start.
	expect int
	// anyDisks is its word that the disks that are missing will not come back.
	anyDisks bool
	builds   *builds.Fleet // what it has put on the slots
	leases   *rollout.Leases
	copies   *disks.Copies
}

// upgrade restarts the processes that look for a cluster and are not of the build that fits each. What
// their disks know may be needed to found it, and they may not fit together.
func (o *operator) upgrade() {
	for _, s := range o.w.slots {
		if p := s.proc; p != nil && p.mem.view == nil && o.builds.Outdated(p.uid) {
			p.end("restarted with another build")
			o.w.restart(s)
		}
	}
}

// downDead is what an operator does where nothing else removes the dead: it downs the members that
// do not run.
func (o *operator) downDead() {
	w := o.w
	for _, p := range w.live {
		if p.mem.view == nil {
			continue
		}
		for _, m := range p.mem.view.Members {
			if !w.procs[uint64(m.UID)].alive {
				p.mem.down(uint64(m.UID))
			}
		}
	}
	w.after(operatorPatience/2, nil, o.downDead)
}

// operatorPatience is how long an operator watches a cluster that no process runs before it acts.
const operatorPatience = 35 * time.Second

// operate is what an operator does with a cluster that all processes have lost. Nodes that left for
// good are still expected, so it starts all with the number of members that is left, and the next
// time with its word that the disks of the others will not return. Founders whose disk remembers
// nothing are told the number, too, or they would not agree.
func (o *operator) operate() {
	w := o.w
	members := 0
	for _, s := range w.slots {
		switch {
		case s.retired || s.started == 0:
		case s.proc != nil && s.proc.mem.view != nil:
			return // somebody has a view: the others can join
		case s.wasMember():
			members++
		}
	}
	o.anyDisks = o.expect > 0
	o.expect = members
	w.trace.Note(w, "OPERATOR expects %d", members)
	w.stalls.Begin(w.now)
	for _, s := range w.slots {
		if s.proc != nil {
			s.proc.end("restarted by the operator")
			w.restart(s)
		}
	}
	w.after(operatorPatience, nil, o.operate)
}

// wasMember reports whether the disk holds a record of a view.
func (s *Slot) wasMember() bool {
	found := false
	err := s.disk.Table(disks.Record).Load(func(durable.Row) error {
		found = true
		return nil
	})
	return found && err == nil
}
