package entities

// Holds reports whether the shard may act: a handler may start, and an effect of one may happen. It
// reads the clock: ask at the moment of acting.
func (s *Shard) Holds() bool {
	return s.runtime.Lease.Holds() && !s.Expelled()
}

// Expelled reports whether the shard has a lease of its own and does not hold it: not yet, or not
// any more.
func (s *Shard) Expelled() bool { return s.Lease != nil && !s.Lease.Open() }

// CancelContexts cancels what the handlers of the shard wait for.
func (s *Shard) CancelContexts(cause error) {
	for _, e := range s.All() {
		if x := e.Extra.Load(); x != nil {
			x.cancelLife(cause)
		}
	}
}
