package sim

import (
	"time"

	"github.com/coterie-go/coterie/durable"
)

// downDead is what an operator does where nothing else removes the dead: it downs the members that
// do not run.
func (w *World) downDead() {
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
	w.after(operatorPatience/2, nil, w.downDead)
}

// operatorPatience is how long an operator watches a cluster that no process runs before it acts.
const operatorPatience = 35 * time.Second

// operate is what an operator does with a cluster that all processes have lost. Nodes that left for
// good are still expected, so it starts all with the number of members that is left, and the next
// time with its word that the disks of the others will not return. Founders whose disk remembers
// nothing are told the number, too, or they would not agree.
func (w *World) operate() {
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
	w.anyDisks = w.expect > 0
	w.expect = members
	w.trace.Line(w, "OPERATOR expects %d", members)
	w.stalls.begin(w)
	for _, s := range w.slots {
		if s.proc != nil {
			s.proc.end("restarted by the operator")
			w.restart(s)
		}
	}
	w.after(operatorPatience, nil, w.operate)
}

// wasMember reports whether the disk holds a record of a view.
func (s *Slot) wasMember() bool {
	found := false
	err := s.disk.table(memberTable).Load(func(durable.Row) error {
		found = true
		return nil
	})
	return found && err == nil
}
