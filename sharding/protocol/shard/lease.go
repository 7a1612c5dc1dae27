package shard

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// With Config.Leases.Shards a shard has a lease of its own, in a store outside of the cluster.
// Before the lease is granted, the shard loads nothing and starts no entity. While another holds
// the lease, the shard tries again and again. It also tells its region, which then answers a
// hand-off at once. A lost lease ends the shard at once.

// becomeLeasing asks for the lease, not before wait has passed.
func (s *Shard) becomeLeasing(wait time.Duration) {
	s.phase = shardLeasing
	if wait > 0 {
		s.leaseState.Postpone(s.now.Add(wait))
		s.waits("the lease was lost a moment ago")
		return
	}
	s.acquire()
}

func (s *Shard) acquire() {
	s.fx.Lease = append(s.fx.Lease, s.leaseState.Acquire(s.now, s.cfg.Leases.RetryInterval))
}

// becomeReturning gives the lease back, after the last entity has stopped and the last write is
// done. The shard has not stopped before the lease is back, because the next home would find it
// held. The shard waits for the store for at most one interval.
func (s *Shard) becomeReturning() {
	wait := s.leaseState.Held()
	op, ok := s.leaseState.Release()
	if ok {
		s.fx.Lease = append(s.fx.Lease, op)
	}
	if !ok || !wait {
		s.becomeStopped()
		return
	}
	s.phase = shardReturning
	s.leaseState.AwaitReturn(s.now.Add(s.cfg.Leases.RetryInterval))
}

func (s *Shard) onLeaseReleased(gen uint64) {
	if s.phase != shardReturning || !s.leaseState.Returned(gen) {
		return
	}
	s.becomeStopped()
}

// onLeaseAnswer goes on with the lease, or waits on. A lost one ends the shard as it stands: the
// runtime lets none of its entities do anything since it knows, so there is nothing to wait for.
func (s *Shard) onLeaseAnswer(in protocol.ShardInput) {
	if _, lost := in.(protocol.LeaseLost); lost && s.leaseState.Held() && s.cfg.Planted(defect.KeepLostLease) {
		return
	}
	waited := s.leaseState.Announced()
	switch what, text := s.leaseState.Hear(in, s.now, s.cfg.Leases.RetryInterval); what {
	case protocol.HeardGranted:
		if s.becomeLoading(); waited && s.phase == shardLoading { // else it has started
			s.tell(protocol.ShardLeased{Shard: s.id})
		}
	case protocol.HeardRefused:
		s.waits(text)
		if text != "" { // else another holds it, wherever the shard is
			s.tell(protocol.ShardUnable{Shard: s.id})
		}
	case protocol.HeardLost:
		s.notify(protocol.Event{Kind: protocol.ShardLeaseLost, Count: s.population.entities.running, Text: text})
		s.phase = shardStopped
		s.stopAt = time.Time{}
		s.population.forget()
		s.tell(protocol.ShardLost{Shard: s.id})
	}
}

// waits tells the region, once per wait, that it may take long.
func (s *Shard) waits(text string) {
	if s.leaseState.AnnounceWaiting() {
		s.notify(protocol.Event{Kind: protocol.LeaseAwaited, Text: text})
		s.tell(protocol.ShardWaits{Shard: s.id})
	}
}

// onLeaseDue tries again, or says that the present try takes long.
func (s *Shard) onLeaseDue() {
	if s.phase == shardReturning {
		s.becomeStopped()
		return
	}
	if op, try := s.leaseState.Advance(s.now, s.cfg.Leases.RetryInterval); try {
		s.fx.Lease = append(s.fx.Lease, op)
		return
	}
	s.waits(fmt.Sprintf("no answer for %v", s.cfg.Leases.RetryInterval))
}
