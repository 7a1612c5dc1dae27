package crdt

// Check recomputes everything that the store maintains and returns what differs. It costs a walk
// over items and log: for tests and the simulator.
func (s *Store) Check() error {
	if err := s.live.check(s.clock); err != nil {
		return err
	}
	return s.log.check(s.clock)
}

func (x *dotIndex) count() int {
	n := 0
	for i := range x.rows {
		n += x.rows[i].root.count(x.rows[i].levels)
	}
	return n
}

func (n *dotNode) count(level uint) int {
	if level == 0 {
		return len(n.items)
	}
	sum := 0
	for _, k := range n.kids {
		sum += k.count(level - 1)
	}
	return sum
}
