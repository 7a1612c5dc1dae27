package shard

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// EntityState is where an entity stands in its life on this node.
type EntityState uint8

// States of an entity. Those that need Remember are marked.
const (
	EntityAbsent      EntityState = iota // nothing is known of it
	EntityRemembered                     // Remember: its id is in the set, it is not started
	RememberingStart                     // Remember: its id is being added; messages wait
	EntityActive                         // it runs; messages go to it without asking this machine
	EntityPassivating                    // it was told to stop and be forgotten; messages wait
	RememberingStop                      // Remember: its id is being removed; messages wait
	WaitingForRestart                    // Remember: it ended by itself and is started again after a pause, or by a message
	EntityStopping                       // it was told to stop because its shard is handed off
	entityStateEnd
)

var entityStateNames = [entityStateEnd]string{
	"absent", "remembered", "remembering-start", "active", "passivating", "remembering-stop", "waiting-for-restart", "stopping",
}

func (e EntityState) String() string {
	if e < entityStateEnd {
		return entityStateNames[e]
	}
	return fmt.Sprintf("EntityState(%d)", uint8(e))
}

// transitions are the changes of state that may happen; anything else is a defect of this machine.
var transitions = [entityStateEnd][]EntityState{
	EntityAbsent:      {EntityRemembered, RememberingStart, EntityActive},
	EntityRemembered:  {EntityActive, RememberingStop, EntityAbsent},
	RememberingStart:  {EntityActive, EntityAbsent},
	EntityActive:      {EntityPassivating, WaitingForRestart, EntityStopping, EntityAbsent},
	EntityPassivating: {RememberingStop, EntityActive, EntityStopping, EntityAbsent},
	RememberingStop:   {RememberingStart, EntityAbsent},
	WaitingForRestart: {EntityActive, EntityRemembered, EntityAbsent},
	EntityStopping:    {EntityRemembered, EntityActive, EntityAbsent},
}

// entity is small: there may be a million in a shard.
type entity struct {
	state  EntityState
	wanted bool   // a message, or a StartEntity, waits for the next incarnation
	gen    uint32 // of the timer that may still act on it
}

func (e entity) changing() bool {
	return e.state == RememberingStart || e.state == EntityPassivating || e.state == RememberingStop
}

func (e entity) running() bool {
	return e.state == EntityActive || e.state == EntityPassivating || e.state == EntityStopping
}

// become is the only place where the state of an entity changes.
func (s *Shard) become(id protocol.EntityID, to EntityState) {
	e := s.entities[id]
	if !slices.Contains(transitions[e.state], to) {
		panic(fmt.Sprintf("sharding/protocol: shard %v: entity %v from %v to %v", s.id, id, e.state, to))
	}
	s.tally(e, -1)
	e.state = to
	e.wanted = false
	e.gen = 0
	s.tally(e, +1)
	if to == EntityAbsent {
		delete(s.entities, id)
		return
	}
	s.entities[id] = e
}

func (s *Shard) tally(e entity, d int) {
	if e.changing() {
		s.changing += d
	}
	if e.running() {
		s.running += d
	}
}

func (s *Shard) want(id protocol.EntityID) {
	e := s.entities[id]
	e.wanted = true
	s.entities[id] = e
}

// start makes the entity active; the runtime is told at the end of the Step.
func (s *Shard) start(id protocol.EntityID) {
	s.become(id, EntityActive)
	s.starts = append(s.starts, id)
}

// restore is start for an entity that is remembered, and that no message waits for.
func (s *Shard) restore(id protocol.EntityID) {
	s.restored++
	s.start(id)
}

// begin starts an entity that is absent: at once, or with Remember once its id is written.
func (s *Shard) begin(id protocol.EntityID) {
	if !s.cfg.Remember {
		s.start(id)
		return
	}
	s.become(id, RememberingStart)
	s.store.adds = append(s.store.adds, id)
}

func (s *Shard) flushStarts() {
	if len(s.starts) == 0 {
		return
	}
	s.do(protocol.StartEntities{IDs: s.starts, Remembered: s.restored})
	if len(s.requests) > 0 {
		for _, id := range s.starts {
			s.fx.Reply = append(s.fx.Reply, s.requests[id]...)
			delete(s.requests, id)
		}
	}
	s.starts, s.restored = nil, 0
}

// onWake starts the entity, or remembers that its next incarnation is wanted.
func (s *Shard) onWake(id protocol.EntityID) {
	if s.phase != shardOpen && s.phase != shardDraining {
		s.early = append(s.early, id)
		return
	}
	switch s.entities[id].state {
	case EntityAbsent:
		s.begin(id)
	case EntityRemembered, WaitingForRestart:
		s.start(id)
	case EntityPassivating, RememberingStop, EntityStopping:
		s.want(id)
	}
}

func (s *Shard) onStartEntity(id protocol.EntityID, req uint64) {
	if req != 0 {
		if s.entities[id].state == EntityActive {
			s.fx.Reply = append(s.fx.Reply, req)
			return
		}
		s.requests[id] = append(s.requests[id], req)
	}
	s.onWake(id)
}

// onPassivate stops an active entity for good. Whatever else asks is too late or has asked before.
func (s *Shard) onPassivate(in protocol.Passivate) {
	if s.phase != shardOpen || s.entities[in.ID].state != EntityActive {
		s.counts[protocol.CountIgnored]++
		return
	}
	s.become(in.ID, EntityPassivating)
	s.arm(&s.passivating, in.ID, s.cfg.PassivationTimeout)
	s.do(protocol.StopEntity(in))
}

func (s *Shard) onEntityStopped(id protocol.EntityID) {
	e := s.entities[id]
	switch e.state {
	case EntityActive:
		s.onEnded(id)
	case EntityPassivating:
		s.onPassivated(id, e.wanted)
	case EntityStopping:
		s.onHandedOff(id, e.wanted)
	default:
		s.counts[protocol.CountIgnored]++
	}
}

// onEnded: the entity ended by itself. A remembered one comes back.
func (s *Shard) onEnded(id protocol.EntityID) {
	if !s.cfg.Remember {
		s.become(id, EntityAbsent)
		return
	}
	s.become(id, WaitingForRestart)
	s.arm(&s.restarting, id, s.cfg.RestartBackoff)
}

func (s *Shard) onPassivated(id protocol.EntityID, wanted bool) {
	switch {
	case s.cfg.Remember:
		s.become(id, RememberingStop)
		if wanted {
			s.want(id)
		}
		s.store.removes = append(s.store.removes, id)
	case wanted:
		s.start(id)
	default:
		s.become(id, EntityAbsent)
	}
}

// onHandedOff: the entity has stopped with its shard. When the hand-off was taken back meanwhile it
// lives on.
func (s *Shard) onHandedOff(id protocol.EntityID, wanted bool) {
	switch {
	case s.phase != shardStopping && (s.cfg.Remember || wanted):
		s.start(id)
	case s.cfg.Remember:
		s.become(id, EntityRemembered)
	default:
		s.become(id, EntityAbsent)
	}
}

// timers are entities in the order in which something is due for them; all wait equally long.
type timers struct{ queue []timer }

type timer struct {
	id  protocol.EntityID
	gen uint32
	at  time.Time
}

func (s *Shard) arm(t *timers, id protocol.EntityID, d time.Duration) {
	s.gen = max(1, s.gen+1)
	e := s.entities[id]
	e.gen = s.gen
	s.entities[id] = e
	t.queue = append(t.queue, timer{id: id, gen: s.gen, at: s.now.Add(d)})
}

func (t *timers) next() time.Time {
	if len(t.queue) == 0 {
		return time.Time{}
	}
	return t.queue[0].at
}

// expired takes out what is due and yields those entities that have not changed since.
func (t *timers) expired(now time.Time, es map[protocol.EntityID]entity) iter.Seq[protocol.EntityID] {
	return func(yield func(protocol.EntityID) bool) {
		for len(t.queue) > 0 && !now.Before(t.queue[0].at) {
			first := t.queue[0]
			t.queue = t.queue[1:]
			if es[first.id].gen == first.gen && !yield(first.id) {
				return
			}
		}
		if len(t.queue) == 0 {
			t.queue = nil
		}
	}
}

func sortedIDs(m map[protocol.EntityID]bool) []protocol.EntityID { return slices.Sorted(maps.Keys(m)) }
