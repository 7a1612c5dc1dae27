package kubernetes

import "time"

// SetTimeOfDay has a store read the time of day from now.
func (s *Store) SetTimeOfDay(now func() time.Time) { s.wall = now }
