package shard

import (
	"fmt"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Check reports every broken invariant of the shard.
func (s *Shard) Check() error {
	var f protocol.Violations
	changing, running := 0, 0
	for id, e := range s.population.entities.byID.all() {
		if e.changing() {
			changing++
		}
		if e.running() {
			running++
		}
		if err := s.checkEntity(id, e.state); err != nil {
			f = append(f, err)
		}
	}
	f.Check(changing == s.population.entities.changing, "%d entities change, counted %d",
		changing, s.population.entities.changing)
	f.Check(running == s.population.entities.running, "%d entities run, counted %d",
		running, s.population.entities.running)
	f.Check(s.phase < shardReturning || s.population.entities.byID.len == 0, "stopped with %d entities",
		s.population.entities.byID.len)
	f.Check(s.phase != shardDrained || s.population.entities.changing == 0 || s.cfg.Planted(defect.NoRememberWait),
		"drained while %d entities change", s.population.entities.changing)
	f.Check(s.phase != shardStopping || !s.stopAt.IsZero() || s.population.entities.running == 0 || s.forced,
		"stopping without a limit")
	holds := s.phase >= shardLoading && s.phase < shardReturning
	f.Check(!holds || !s.cfg.ShardsTakeLeases() || s.leaseState.Held() || s.cfg.Planted(defect.KeepLostLease),
		"%s while the lease is %s",
		shardPhaseNames[s.phase], s.leaseState)
	sr, r := &s.population.store, &s.population.roll
	f.Check(r.known == (s.phase == shardLoading && sr.read == 0 && !sr.unread), "%s with %d of %d ids entered",
		shardPhaseNames[s.phase], r.at, len(r.ids))
	f.Check(!s.population.store.failed || s.population.store.write.ID != 0, "a failed write without a write")
	return f.Err()
}

// checkEntity is the first broken invariant of an entity. There are many entities: what is right costs no memory.
func (s *Shard) checkEntity(id protocol.EntityID, state entityState) error {
	_, armed := s.population.entities.armed[id]
	switch {
	case state == entityAbsent:
		return fmt.Errorf("entity %v is kept although it is absent", id)
	case armed && state != entityPassivating && state != waitingForRestart:
		return fmt.Errorf("entity %v is %v and has a timer", id, state)
	case s.cfg.Remember.Entities:
		return nil
	}
	switch state {
	case entityRemembered, rememberingStart, rememberingStop, waitingForRestart:
		return fmt.Errorf("entity %v is %v in a shard that remembers nothing", id, state)
	}
	return nil
}

func (s *Shard) String() string {
	return fmt.Sprintf("shard %v %s entities=%d running=%d changing=%d adds=%d removes=%d writing=%d",
		s.id, shardPhaseNames[s.phase], s.population.entities.byID.len, s.population.entities.running,
		s.population.entities.changing, len(s.population.store.adds), len(s.population.store.removes),
		s.population.store.write.ID)
}
