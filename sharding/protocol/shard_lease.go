package protocol

import (
	"fmt"
	"time"
)

// With Config.Lease a shard has a lease of its own, in a store outside of the cluster. Before the
// lease is granted, the shard loads nothing and starts no entity. While another holds the lease,
// the shard tries again and again. It also tells its region, which then answers a hand-off at once.
// A lost lease ends the shard at once.

// becomeLeasing asks for the lease, not before wait has passed.
func (s *Shard) becomeLeasing(wait time.Duration) {
	s.phase = shardLeasing
	if wait > 0 {
		s.leaseState.postpone(s.now.Add(wait))
		s.waits("the lease was lost a moment ago")
		return
	}
	s.acquire()
}

func (s *Shard) acquire() {
	s.fx.Lease = append(s.fx.Lease, s.leaseState.acquire(s.now, s.cfg.LeaseRetryInterval))
}

// becomeReturning gives the lease back, after the last entity has stopped and the last write is
// done. The shard has not stopped before the lease is back, because the next home would find it
// held. The shard waits for the store for at most one interval.
func (s *Shard) becomeReturning() {
	wait := s.leaseState.state == leaseHeld
	op, ok := s.leaseState.release()
	if ok {
		s.fx.Lease = append(s.fx.Lease, op)
	}
	if !ok || !wait {
		s.becomeStopped()
		return
	}
	s.phase = shardReturning
	s.leaseState.due = s.now.Add(s.cfg.LeaseRetryInterval)
}

func (s *Shard) onLeaseReleased(gen uint64) {
	if s.phase != shardReturning || gen != s.leaseState.gen {
		s.counts[countLate]++
		return
	}
	s.becomeStopped()
}

// onLeaseAnswer goes on with the lease, or waits on. A lost one ends the shard as it stands: the
// runtime lets none of its entities do anything since it knows, so there is nothing to wait for.
func (s *Shard) onLeaseAnswer(in ShardInput) {
	if _, lost := in.(LeaseLost); lost && s.leaseState.state == leaseHeld && s.cfg.Faults.KeepLostLease {
		return
	}
	waited := s.leaseState.said
	switch what, text := s.leaseState.hear(in, s.now, s.cfg.LeaseRetryInterval); what {
	case heardGranted:
		if s.becomeLoading(); waited && s.phase == shardLoading { // else it has started
			s.tell(ShardLeased{Shard: s.id})
		}
	case heardRefused:
		s.counts[countLeaseRefused]++
		s.waits(text)
		if text != "" { // else another holds it, wherever the shard is
			s.tell(ShardUnable{Shard: s.id})
		}
	case heardLost:
		s.counts[countLeaseLost]++
		s.notify(Event{Kind: ShardLeaseLost, Count: s.running, Text: text})
		s.phase = shardStopped
		s.forgetAll()
		s.tell(ShardLost{Shard: s.id})
	default:
		s.counts[countLate]++
	}
}

// waits tells the region, once per wait, that it may take long.
func (s *Shard) waits(text string) {
	if s.leaseState.announceWaiting() {
		s.notify(Event{Kind: LeaseAwaited, Text: text})
		s.tell(ShardWaits{Shard: s.id})
	}
}

// onLeaseDue tries again, or says that the present try takes long.
func (s *Shard) onLeaseDue() {
	if s.phase == shardReturning {
		s.becomeStopped()
		return
	}
	if op, try := s.leaseState.advance(s.now, s.cfg.LeaseRetryInterval); try {
		s.fx.Lease = append(s.fx.Lease, op)
		return
	}
	s.waits(fmt.Sprintf("no answer for %v", s.cfg.LeaseRetryInterval))
}
