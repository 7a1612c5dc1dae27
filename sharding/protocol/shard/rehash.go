package shard

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Ids may lie in the set of a shard that they do not belong to, because the number of shards or the
// hash has changed since. They are started in their shards, which remembers them there, and only
// then forgotten here: whatever ends between the two, they are in one set at least.

// forward has the next of them started.
func (s *Shard) forward() {
	st := &s.store
	if s.phase != shardOpen || len(st.strangers) == 0 || len(st.forwarded) > 0 || s.now.Before(st.forwardAt) {
		return
	}
	n := min(len(st.strangers), protocol.ForwardMax)
	st.forwarded, st.strangers = st.strangers[:n:n], st.strangers[n:]
	st.forwardAt = time.Time{}
	s.do(protocol.ForwardStart{IDs: st.forwarded})
}

// forwardDue is when some are to be tried again.
func (s *Shard) forwardDue() time.Time {
	if s.phase != shardOpen || len(s.store.strangers) == 0 || len(s.store.forwarded) > 0 {
		return time.Time{}
	}
	return s.store.forwardAt
}

// onStartedElsewhere forgets those that were started, and has the others tried again a little
// later.
func (s *Shard) onStartedElsewhere(ids []protocol.EntityID) {
	st := &s.store
	moved := make(map[protocol.EntityID]bool, len(ids))
	for _, id := range ids {
		moved[id] = true
		if s.entities[id].state == EntityRemembered && s.cfg.ShardOf(id) != s.id {
			s.become(id, RememberingStop)
			st.removes = append(st.removes, id)
		}
	}
	for _, id := range st.forwarded {
		if !moved[id] && s.entities[id].state == EntityRemembered {
			st.strangers = append(st.strangers, id)
			st.forwardAt = s.now.Add(s.cfg.RetryInterval)
		}
	}
	st.forwarded = nil
}

// onUnlisted puts the shard back among those with remembered ids: an earlier owner's write that
// came late has taken it out.
func (s *Shard) onUnlisted() {
	if s.cfg.Remember && s.phase >= shardOpen && s.phase < shardStopping && s.store.index == indexYes {
		s.store.index = indexLost
	}
}
