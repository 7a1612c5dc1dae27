package shard

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onDrain stops everything that would start by itself; what has messages is still served.
func (s *Shard) onDrain(handOff protocol.Token) {
	if s.phase == shardLoading || s.phase == shardLeasing {
		s.handOff = handOff // when it has opened
		return
	}
	if s.phase != shardOpen {
		s.counts[protocol.CountIgnored]++
		return
	}
	s.phase, s.handOff = shardDraining, handOff
	s.recovery, s.recoverAt, s.turns, s.drainAsked = nil, time.Time{}, 0, false
}

// maybeDrainMailboxes asks whether the mailboxes are empty once no entity is between two states:
// those have messages that wait.
func (s *Shard) maybeDrainMailboxes() {
	if s.phase == shardDraining && !s.drainAsked && s.settled() {
		s.drainAsked = true
		s.do(protocol.DrainMailboxes{HandOff: s.handOff})
	}
}

// settled reports whether no entity is between two states and nothing is written.
func (s *Shard) settled() bool {
	if !s.cfg.Defects.NoRememberWait {
		return s.changing == 0 && s.quiet()
	}
	leaving := 0
	for _, e := range s.entities { // order: only counted
		if e.state == RememberingStop {
			leaving++
		}
	}
	return s.changing == leaving
}

func (s *Shard) onMailboxesEmpty(handOff protocol.Token) {
	if s.phase != shardDraining || s.handOff != handOff || !s.drainAsked {
		s.counts[protocol.CountLate]++
		return
	}
	s.drainAsked = false
	if s.settled() {
		s.phase = shardDrained
		s.tell(protocol.ShardDrained{Shard: s.id, HandOff: handOff})
	}
}

// onStop stops all entities. A shard that has not opened has none; it answers at once.
func (s *Shard) onStop(handOff protocol.Token, force bool) {
	s.handOff = handOff
	switch s.phase {
	case shardClosed, shardLeasing, shardLoading, shardStopped:
		s.stopped()
		return
	case shardReturning:
		return
	}
	if s.phase != shardStopping || !force {
		s.beginStop(handOff)
	}
	if force && !s.forced && s.running > 0 {
		s.onStopTimeout()
	}
}

func (s *Shard) beginStop(handOff protocol.Token) {
	s.phase = shardStopping
	s.forced, s.drainAsked = false, false
	s.recovery, s.recoverAt, s.turns = nil, time.Time{}, 0
	s.passivating, s.restarting = timers{}, timers{}
	s.stopAll()
	if s.running > 0 {
		s.stopAt = s.now.Add(s.cfg.StopTimeout)
		s.do(protocol.StopEntities{HandOff: handOff})
	}
}

// stopAll takes every entity out of what it does. Those whose start is only queued to be written
// are as if never woken.
func (s *Shard) stopAll() {
	writing := map[protocol.EntityID]bool{}
	for _, id := range s.store.write.AddIDs {
		writing[id] = true
	}
	unborn := map[protocol.EntityID]bool{}
	for id, e := range s.entities { // order: only states change, and unborn is sorted below
		switch e.state {
		case EntityActive, EntityPassivating:
			s.become(id, EntityStopping)
		case WaitingForRestart:
			s.become(id, EntityRemembered)
		case RememberingStart:
			unborn[id] = !writing[id]
		}
	}
	for _, id := range sortedIDs(unborn) {
		if unborn[id] {
			s.become(id, EntityAbsent)
			s.early = append(s.early, id)
		}
	}
}

// onStopTimeout forces what has not stopped. What does not return even then is reported; the
// hand-off hangs until the coordinator aborts it.
func (s *Shard) onStopTimeout() {
	if s.forced {
		s.stopAt = time.Time{}
		s.notify(protocol.Event{Kind: protocol.StopStuck, Token: s.handOff, Count: s.running})
		return
	}
	s.forced = true
	s.stopAt = s.now.Add(s.cfg.StopTimeout)
	s.do(protocol.ForceStopEntities{HandOff: s.handOff})
	s.notify(protocol.Event{Kind: protocol.StopForced, Token: s.handOff, Count: s.running})
}

// maybeStopped ends the shard when no entity runs and no write is outstanding: a removal that came
// after the next owner's start would make it forget what runs there.
func (s *Shard) maybeStopped() {
	if s.phase != shardStopping || s.running > 0 {
		return
	}
	if s.quiet() || s.cfg.Defects.NoRememberWait {
		s.stopped()
	}
}

// stopped goes on when nothing runs any more.
func (s *Shard) stopped() {
	s.forgetAll()
	s.becomeReturning()
}

func (s *Shard) becomeStopped() {
	s.phase = shardStopped
	s.leaseState.Settle()
	s.tell(protocol.ShardStopped{Shard: s.id, HandOff: s.handOff})
}

// forgetAll is the end of everything that the shard knows of its entities.
func (s *Shard) forgetAll() {
	s.stopAt, s.recoverAt, s.turns = time.Time{}, time.Time{}, 0
	s.changing, s.running = 0, 0
	clear(s.entities)
	s.passivating, s.restarting = timers{}, timers{}
	s.store = shardStore{ids: s.store.ids, suspects: map[protocol.EntityID]bool{}}
}

// onResume takes a drain or a stop back. What has stopped already starts again if it is remembered
// or wanted; what is still stopping does so when it has.
func (s *Shard) onResume() {
	switch s.phase {
	case shardReturning, shardStopped:
		s.onOpen(0)
	case shardLeasing, shardLoading:
		s.handOff = protocol.Token{}
	case shardDraining, shardDrained, shardStopping:
		s.phase, s.handOff = shardOpen, protocol.Token{}
		s.drainAsked, s.forced, s.stopAt = false, false, time.Time{}
		s.wakeEarly()
		s.recoverAll()
	default:
		s.counts[protocol.CountIgnored]++
	}
}
