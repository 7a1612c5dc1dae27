package calls

// Stats counts since the machine was made.
type Stats struct {
	Writes    uint64 // Append and SaveState that have succeeded
	Events    uint64 // in them
	Batches   uint64 // calls in which they were
	Bytes     uint64 // in them
	Loads     uint64 // Load, LoadSnapshot and LoadState that have succeeded
	Snapshots uint64 // that were saved
	Failures  uint64 // calls whose outcome is unknown
	GivenUp   uint64 // Ops that ended with ErrGaveUp
	Full      uint64 // Ops that ended with ErrBufferFull
	Fenced    uint64 // hostings that ended because of a later one

	Hostings int // now: those that have asked for something, and have not ended

	Waiting, WaitingBytes, InFlight int // now; Waiting with those under way
}

// count counts what a call that has succeeded has done, and returns how many of its Ops it has
// carried out.
func (s *Stats) count(c *Call) (did int) {
	stored := false
	for _, o := range c.Ops {
		if o.stage != called {
			continue
		}
		did++
		switch c.Kind {
		case Append, SaveState:
			s.Writes++
			s.Events += uint64(o.Events)
			s.Bytes += uint64(o.Bytes)
			stored = true
		case Load, LoadSnapshot, LoadState:
			s.Loads++
		case SaveSnapshot:
			s.Snapshots++
		}
	}
	if stored {
		s.Batches++
	}
	return did
}
