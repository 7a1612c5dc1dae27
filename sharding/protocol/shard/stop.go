package shard

import (
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onDrain stops everything that would start by itself; what has messages is still served.
func (s *Shard) onDrain(handOff protocol.Token) {
	if s.phase != shardOpen {
		return
	}
	s.phase, s.handOff = shardDraining, handOff
	s.drainAsked = false
	s.population.recovery.end()
}

// maybeDrainMailboxes asks whether the mailboxes are empty once no entity is between two states:
// those have messages that wait.
func (s *Shard) maybeDrainMailboxes() {
	if s.phase == shardDraining && !s.drainAsked && s.population.settled() {
		s.drainAsked = true
		s.do(protocol.DrainMailboxes{HandOff: s.handOff})
	}
}

func (s *Shard) onMailboxesEmpty(handOff protocol.Token) {
	if s.phase != shardDraining || s.handOff != handOff || !s.drainAsked {
		return
	}
	s.drainAsked = false
	if s.population.settled() {
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
	if force && !s.forced && s.population.entities.running > 0 {
		s.onStopTimeout()
	}
}

func (s *Shard) beginStop(handOff protocol.Token) {
	s.phase = shardStopping
	s.forced, s.drainAsked = false, false
	s.population.recovery.end()
	s.population.entities.disarm()
	s.population.stopAll()
	if s.population.entities.running > 0 {
		s.stopAt = s.now.Add(s.cfg.HandOff.StopTimeout)
		s.do(protocol.StopEntities{HandOff: handOff})
	}
}

// onStopTimeout forces what has not stopped. What does not return even then is reported; the
// hand-off hangs until the coordinator aborts it.
func (s *Shard) onStopTimeout() {
	if s.forced {
		s.stopAt = time.Time{}
		s.notify(protocol.Event{Kind: protocol.StopStuck, Token: s.handOff, Count: s.population.entities.running})
		return
	}
	s.forced = true
	s.stopAt = s.now.Add(s.cfg.HandOff.StopTimeout)
	s.do(protocol.ForceStopEntities{HandOff: s.handOff})
	s.notify(protocol.Event{Kind: protocol.StopForced, Token: s.handOff, Count: s.population.entities.running})
}

// maybeStopped ends the shard when no entity runs and no write is outstanding: a removal that came
// after the next owner's start would make it forget what runs there.
func (s *Shard) maybeStopped() {
	if s.phase != shardStopping || s.population.entities.running > 0 {
		return
	}
	if s.population.store.quiet() || s.cfg.Planted(defect.NoRememberWait) {
		s.stopped()
	}
}

// stopped goes on when nothing runs any more.
func (s *Shard) stopped() {
	s.stopAt = time.Time{}
	s.population.forget()
	s.becomeReturning()
}

func (s *Shard) becomeStopped() {
	s.phase = shardStopped
	s.leaseState.Settle()
	s.tell(protocol.ShardStopped{Shard: s.id, HandOff: s.handOff})
}

// onResume takes a drain or a stop back. After a stop the region waits for ShardStarted: a shard
// that has stopped already opens anew, with a lease of its own if it has one. An entity that has
// stopped starts again if it is remembered or wanted; one that is still stopping does so when it
// has.
func (s *Shard) onResume() {
	switch s.phase {
	case shardReturning, shardStopped:
		s.onOpen(0)
	case shardDraining, shardDrained, shardStopping:
		if s.phase == shardStopping {
			s.tell(protocol.ShardStarted{Shard: s.id})
		}
		s.phase, s.handOff = shardOpen, protocol.Token{}
		s.drainAsked, s.forced, s.stopAt = false, false, time.Time{}
		s.population.wakeEarly()
		s.population.recoverAll()
	}
}
