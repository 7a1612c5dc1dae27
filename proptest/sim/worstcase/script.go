package worstcase

import (
	"time"

	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// Scripted plays the faults of a script.
func Scripted(script *workload.Script) func(Stage) {
	return func(s Stage) {
		cuts := make([]int, s.Slots()) // of each node, those that last
		for _, f := range script.Faults {
			s.After(workload.Forms+f.At, func() {
				if !s.Healed() {
					s.Note("CHAOS %v", f)
					s.play(f, cuts)
				}
			})
		}
	}
}

// play makes one fault happen.
func (s Stage) play(f workload.Harm, cuts []int) {
	switch f.Kind {
	case workload.Cut:
		cuts[f.Node]++
		s.part(cuts)
		s.After(f.For, func() {
			if cuts[f.Node]--; !s.Healed() {
				s.part(cuts)
			}
		})
	case workload.SlowDisk:
		s.StallDisk(f.Node, f.For)
	default:
		if s.Runs(f.Node) {
			s.playInProcess(f)
		}
	}
}

// playInProcess makes one fault of a process happen.
func (s Stage) playInProcess(f workload.Harm) {
	switch f.Kind {
	case workload.Crash:
		s.Crash(f.Node)
		s.After(f.For, func() { s.Restart(f.Node) })
	case workload.Pause:
		s.Pause(f.Node, f.For)
	case workload.Leave:
		s.Leave(f.Node)
		s.returns(f)
	}
}

// returns starts a node again a while after it has left.
func (s Stage) returns(f workload.Harm) {
	const look = 100 * time.Millisecond
	s.After(look, func() {
		switch {
		case s.Healed():
			s.Start(f.Node)
		case s.Runs(f.Node):
			s.returns(f)
		default:
			s.After(f.For, func() { s.Start(f.Node) })
		}
	})
}

// part cuts the ways between the nodes that are cut off and all others.
func (s Stage) part(cuts []int) {
	s.Net.Cut(func(a, b int) bool { return cuts[a] > 0 || cuts[b] > 0 })
}
