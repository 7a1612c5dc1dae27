package protocol

import (
	"slices"
	"time"
)

// Recovery says how fast a shard that opens starts the entities that it remembers: so many per interval. One for which a message comes is
// started at once, whenever its turn would be.
type Recovery struct {
	// Number of entities per Interval; 0: all, as fast as it goes.
	Number int
	// Interval between two starts of so many. Default 100 ms, if there is a Number.
	Interval time.Duration
}

var (
	// RecoverAll starts all entities at once. The default.
	RecoverAll = Recovery{}
	// RecoverConstant starts five entities of each shard every 100 ms, for entities whose start is a burden to others, such as a database.
	RecoverConstant = Recovery{Number: 5, Interval: 100 * time.Millisecond}
)

// recover starts remembered entities whose turn it is. All of them are many Steps, so that other inputs of the shard come between.
func (s *Shard) recover() {
	if !s.recoverAt.IsZero() && s.now.Before(s.recoverAt) {
		return
	}
	left := startsMax
	if n := s.cfg.Recovery.Number; n > 0 {
		left = n
	}
	for left > 0 && len(s.recovery) > 0 {
		id := s.recovery[0]
		s.recovery = s.recovery[1:]
		if s.entities[id].state == EntityRemembered {
			s.restore(id)
			left--
		}
	}
	s.recoverAt = time.Time{}
	if len(s.recovery) > 0 {
		s.recoverAt = s.now.Add(s.cfg.Recovery.Interval)
	} else {
		s.recovery = nil
	}
}

// recoverAll starts, in order, every entity that is remembered and does not run.
func (s *Shard) recoverAll() {
	var ids, strangers []EntityID
	for id, e := range s.entities { // order: sorted below
		switch {
		case e.state != EntityRemembered:
		case s.cfg.ShardOf(id) == s.id:
			ids = append(ids, id)
		default:
			strangers = append(strangers, id)
		}
	}
	slices.Sort(ids)
	slices.Sort(strangers)
	s.recovery, s.recoverAt, s.store.strangers = ids, time.Time{}, strangers
	s.recover()
}
