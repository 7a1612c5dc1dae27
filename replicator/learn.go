package replicator

// A learner is a replica that has come to a running cluster: its store may lack what a majority has
// acknowledged. It asks the voters for their clocks. It has caught up when it contains what a
// majority of each quorum told after the first view came. Where that counts, it must contain this
// on disk. Until then it refuses updates, because its removes would have observed nothing (R11). It
// also neither donates nor acks (R4). There is one exception, in the durable space after a cold
// start: a disk that has to be heard is heard, because perhaps no other disk has what it brings.

// startLearning begins to catch up, unless there is nothing to catch up with.
func (m *Machine) startLearning() {
	if m.view.Founded && m.voter || len(m.view.Voters) == 0 || m.cfg.Defects.JoinWithoutCatchUp {
		for _, s := range m.spaces {
			s.reads.learned = true
		}
		return
	}
	for _, s := range m.spaces {
		s.reads.startLearning()
	}
}

// maybeCaughtUp makes a learner serve.
func (m *Machine) maybeCaughtUp() {
	if m.serves || !m.member {
		return
	}
	for _, s := range m.spaces {
		if !s.reads.learned {
			return
		}
	}
	m.becomeCaughtUp()
	m.eff.CaughtUp = true
	for _, s := range m.spaces {
		s.pusher.oweAcked()
		s.settlement.settle()
	}
}
