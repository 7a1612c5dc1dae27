package protocol

import (
	"slices"
	"time"
)

// Recovery says how fast the shards of a region start the entities that they remember: so many per
// interval, of all shards of the type on one node together. One for which a message comes is
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
	// RecoverConstant starts five entities of the type on a node every 100 ms, for entities whose
	// start is a burden to others, such as a database.
	RecoverConstant = Recovery{Number: 5, Interval: 100 * time.Millisecond}
)

// Turns hands out when the shards of one region may start what they remember. The machines that
// share it are stepped one after the other. The zero value is ready.
type Turns struct {
	at   time.Time // of the interval of which turns are handed out
	left int       // in it
}

// reserve takes up to so many turns of the first interval that has some. They may be used from at
// on.
func (t *Turns) reserve(now time.Time, most int, r Recovery) (n int, at time.Time) {
	switch {
	case !now.Before(t.at.Add(r.Interval)):
		t.at, t.left = now, r.Number
	case t.left == 0:
		t.at, t.left = t.at.Add(r.Interval), r.Number
	}
	n = min(most, t.left)
	t.left -= n
	return n, t.at
}

// mayRecover returns how many remembered entities may be started now. If it is none, recoverAt is
// their time.
func (s *Shard) mayRecover() int {
	r := s.cfg.Recovery
	switch {
	case !s.recoverAt.IsZero() && s.now.Before(s.recoverAt), len(s.recovery) == 0:
		return 0
	case r.Number == 0:
		return startsMax
	case s.turns == 0:
		if s.turns, s.recoverAt = s.cfg.Turns.reserve(s.now, len(s.recovery), r); s.now.Before(s.recoverAt) {
			return 0
		}
	}
	n := s.turns
	s.turns = 0
	return n
}

// recover starts remembered entities whose turn it is. All of them are many Steps, so that other
// inputs of the shard come between.
func (s *Shard) recover() {
	left := s.mayRecover()
	if left == 0 {
		return
	}
	for left > 0 && len(s.recovery) > 0 {
		id := s.recovery[0]
		s.recovery = s.recovery[1:]
		if s.entities[id].state == EntityRemembered {
			s.restore(id)
			left--
		}
	}
	switch {
	case len(s.recovery) == 0:
		s.recovery, s.recoverAt = nil, time.Time{}
	case s.cfg.Recovery.Number == 0:
		s.recoverAt = s.now
	default:
		s.turns, s.recoverAt = s.cfg.Turns.reserve(s.now, len(s.recovery), s.cfg.Recovery)
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
	s.recovery, s.recoverAt, s.turns, s.store.strangers = ids, time.Time{}, 0, strangers
	s.recover()
}
