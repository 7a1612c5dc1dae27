package shard

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// startsMax bounds the remembered entities started in one Step.
const startsMax = 4096

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
		if s.turns, s.recoverAt = s.cfg.Turns.Reserve(s.now, len(s.recovery), r); s.now.Before(s.recoverAt) {
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
		s.turns, s.recoverAt = s.cfg.Turns.Reserve(s.now, len(s.recovery), s.cfg.Recovery)
	}
}

// recoverAll starts, in order, every entity that is remembered and does not run.
func (s *Shard) recoverAll() {
	var ids, strangers []protocol.EntityID
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
