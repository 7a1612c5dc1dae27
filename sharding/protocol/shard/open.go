package shard

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

func (s *Shard) onOpen(wait time.Duration) {
	if s.phase != shardClosed && s.phase < shardReturning {
		return
	}
	s.handOff = protocol.Token{}
	if s.cfg.ShardsTakeLeases() {
		s.becomeLeasing(wait)
		return
	}
	s.becomeLoading()
}

func (s *Shard) becomeLoading() {
	if !s.cfg.Remember.Entities {
		s.becomeOpen()
		return
	}
	s.phase = shardLoading
	s.population.store.load()
}

func (s *Shard) onRead(in protocol.DidRead) {
	if !s.population.store.didRead(in) {
		return
	}
	if s.phase == shardLoading {
		s.population.onLoaded(in.IDs)
		s.enter()
		return
	}
	s.population.onVerified(in.IDs)
}

// enter enters a part of the ids of the set, and opens the shard after the last.
func (s *Shard) enter() {
	if s.phase == shardLoading && s.population.roll.enter(&s.population) {
		s.becomeOpen()
	}
}

// becomeOpen tells the region, wakes those that waited, and then starts what is remembered.
func (s *Shard) becomeOpen() {
	s.phase = shardOpen
	s.tell(protocol.ShardStarted{Shard: s.id})
	s.population.hearLate()
	s.population.wakeEarly()
	s.population.recovery.recover()
}
