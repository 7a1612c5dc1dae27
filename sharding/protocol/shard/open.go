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
		s.becomeOpen()
		return
	}
	s.population.onVerified(in.IDs)
}

// becomeOpen tells the region, wakes those that waited, and then starts what is remembered.
func (s *Shard) becomeOpen() {
	s.phase = shardOpen
	s.tell(protocol.ShardStarted{Shard: s.id})
	s.population.wakeEarly()
	s.population.recovery.recover()
}
