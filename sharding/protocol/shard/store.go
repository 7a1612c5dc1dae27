package shard

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// shardStore is the remembered part of a shard: what must be written, and the one write and the one
// read under way.
type shardStore struct {
	adds     []protocol.EntityID // to be written if they are still wanted then
	removes  []protocol.EntityID // to be written; all remember their stop
	write    protocol.StateWrite // under way, or failed and waiting for retryAt; ID 0: none
	read     uint64              // the ID of the read under way; 0: none
	misread  uint                // how often reads have failed in a row
	retryAt  time.Time
	failed   bool // write must be repeated
	unread   bool // the read must be repeated
	index    indexState
	tidyAt   time.Time                  // when to make sure that an empty shard is in no set
	suspects map[protocol.EntityID]bool // ids that appeared in the set by no doing of this shard
	ids      uint64                     // of reads and writes

	backoff time.Duration // before the next repetition
	lateAt  time.Time     // when what is under way has taken long
	failure bool          // told with RememberFailed, and not over
	silent  bool          // likewise, and what is wrong was not known then

	strangers []protocol.EntityID // that belong to other shards now, not started there yet
	forwarded []protocol.EntityID // those of them that are being started
	forwardAt time.Time           // when to try the rest again
}

// indexState reports whether the shard is in the set of shards that have remembered ids.
type indexState uint8

const (
	indexMaybe indexState = iota
	indexYes
	indexNo
	indexLost // it was taken out by somebody else
)

func (s *Shard) onOpen(wait time.Duration) {
	if s.phase != shardClosed && s.phase < shardReturning {
		s.counts[protocol.CountIgnored]++
		return
	}
	s.handOff = protocol.Token{}
	if s.cfg.Lease {
		s.becomeLeasing(wait)
		return
	}
	s.becomeLoading()
}

func (s *Shard) becomeLoading() {
	if !s.cfg.Remember {
		s.becomeOpen()
		return
	}
	s.phase = shardLoading
	s.load()
}

func (s *Shard) load() {
	s.store.ids++
	s.store.read = s.store.ids
	s.slowAfter()
	s.fx.Read = append(s.fx.Read, protocol.StateRead{ID: s.store.read, Kind: protocol.StateIDs, Shard: s.id, Failed: s.store.misread})
}

func (s *Shard) onRead(in protocol.DidRead) {
	if in.ID != s.store.read || in.ID == 0 {
		s.counts[protocol.CountLate]++
		return
	}
	s.store.read = 0
	if in.Err != nil {
		s.counts[protocol.CountStateError]++
		s.store.unread = true
		s.store.misread++
		s.retryLater(in.Err)
		return
	}
	s.store.misread = 0
	s.works()
	if s.phase == shardLoading {
		s.onLoaded(in.IDs)
		return
	}
	s.onVerified(in.IDs)
}

// onLoaded opens the shard with the ids of its set. Those that belong to another shard, because the
// number of shards or the hash has changed, are started there and then forgotten here.
func (s *Shard) onLoaded(ids []protocol.EntityID) {
	s.store.index = indexYes
	if len(ids) == 0 {
		s.store.index, s.store.tidyAt = indexMaybe, s.now.Add(s.cfg.RetryInterval)
	}
	s.entities = make(map[protocol.EntityID]entity, len(ids))
	strange := func(id protocol.EntityID) bool { return s.cfg.ShardOf(id) != s.id }
	s.recovery = ids
	for _, id := range ids {
		s.become(id, EntityRemembered)
		if strange(id) {
			s.store.strangers = append(s.store.strangers, id)
		}
	}
	if len(s.store.strangers) > 0 {
		s.recovery = slices.DeleteFunc(slices.Clone(ids), strange)
	}
	s.becomeOpen()
}

// becomeOpen tells the region, wakes those that waited, and then starts what is remembered.
func (s *Shard) becomeOpen() {
	s.phase = shardOpen
	s.tell(protocol.ShardStarted{Shard: s.id})
	s.wakeEarly()
	if s.handOff.IsZero() {
		s.recover()
	} else {
		s.onDrain(s.handOff)
	}
}

func (s *Shard) wakeEarly() {
	early := s.early
	s.early = nil
	for _, id := range early {
		s.onWake(id)
	}
}

// onIDsChanged keeps the set in line with what runs. An id of a living entity that vanished was
// removed by an earlier owner whose write came late: it is added again, also while the write that
// has put it is under way or to be repeated. An id that appeared (a disk that was away has
// returned) is started, once a read says that it is there.
func (s *Shard) onIDsChanged(in protocol.IDsChanged) {
	if !s.cfg.Remember || s.phase < shardOpen || s.phase >= shardStopping {
		return
	}
	for _, id := range in.Removed {
		delete(s.store.suspects, id)
		switch state := s.entities[id].state; {
		case state == EntityRemembered && s.cfg.ShardOf(id) != s.id:
			s.become(id, EntityAbsent) // it runs elsewhere
		case state == RememberingStart || state == EntityActive || state == EntityRemembered || state == WaitingForRestart:
			s.store.adds = append(s.store.adds, id)
		}
	}
	for _, id := range in.Added {
		if s.entities[id].state == EntityAbsent {
			s.store.suspects[id] = true
		}
	}
	if len(s.store.suspects) > 0 && s.store.read == 0 && !s.store.unread {
		s.load()
	}
}

func (s *Shard) onVerified(ids []protocol.EntityID) {
	if s.phase != shardOpen && s.phase != shardDraining {
		return
	}
	found := make(map[protocol.EntityID]bool, len(s.store.suspects))
	for _, id := range ids {
		if s.store.suspects[id] && s.entities[id].state == EntityAbsent {
			found[id] = true
		}
	}
	clear(s.store.suspects)
	for _, id := range sortedIDs(found) {
		if s.cfg.ShardOf(id) == s.id {
			s.onWake(id)
			continue
		}
		s.become(id, EntityRemembered)
		s.store.strangers = append(s.store.strangers, id)
	}
}

// pump begins the next write when none is under way.
func (s *Shard) pump() {
	if !s.cfg.Remember || s.store.write.ID != 0 || s.phase < shardOpen || s.phase >= shardReturning {
		return
	}
	w, ok := s.nextWrite()
	if !ok {
		return
	}
	s.store.ids++
	w.ID = s.store.ids
	s.store.write = w
	s.slowAfter()
	s.fx.Write = append(s.fx.Write, w)
}

// nextWrite takes what has gathered: first the shard's place among those with remembered ids, then
// ids, then, when the last is gone, that place again.
func (s *Shard) nextWrite() (protocol.StateWrite, bool) {
	st := &s.store
	st.adds = s.stillWanted(st.adds)
	index := protocol.StateWrite{Kind: protocol.StateRemembered}
	switch {
	case (len(st.adds) > 0 || st.index == indexLost && len(s.entities) > 0) && st.index != indexYes:
		st.index = indexMaybe
		index.AddShards = []protocol.ShardID{s.id}
		return index, true
	case len(st.adds)+len(st.removes) > 0:
		w := protocol.StateWrite{Kind: protocol.StateIDs, Shard: s.id}
		w.AddIDs, st.adds = cut(st.adds)
		w.RemoveIDs, st.removes = cut(st.removes)
		return w, true
	case len(s.entities) == 0 && st.index != indexNo && !s.now.Before(st.tidyAt):
		st.tidyAt = time.Time{}
		st.index = indexMaybe
		index.RemoveShards = []protocol.ShardID{s.id}
		return index, true
	}
	return protocol.StateWrite{}, false
}

// stillWanted drops additions whose entity has gone another way since.
func (s *Shard) stillWanted(adds []protocol.EntityID) []protocol.EntityID {
	kept := adds[:0]
	for _, id := range adds {
		switch s.entities[id].state {
		case RememberingStart, EntityActive, EntityRemembered, WaitingForRestart:
			kept = append(kept, id)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// writeIDsMax bounds the ids in one write.
const writeIDsMax = 8192

func cut(ids []protocol.EntityID) (now, later []protocol.EntityID) {
	if n := min(len(ids), writeIDsMax); n > 0 {
		return ids[:n:n], ids[n:]
	}
	return nil, nil
}

func (s *Shard) onWrote(id uint64, err error) {
	st := &s.store
	if id != st.write.ID || id == 0 || st.failed {
		s.counts[protocol.CountLate]++
		return
	}
	if err != nil {
		s.counts[protocol.CountStateError]++
		st.failed = true
		s.retryLater(err)
		return
	}
	w := st.write
	st.write = protocol.StateWrite{}
	s.works()
	switch {
	case len(w.AddShards) > 0:
		st.index = indexYes
	case len(w.RemoveShards) > 0:
		st.index = indexNo
	}
	for _, id := range w.AddIDs {
		s.onAdded(id)
	}
	for _, id := range w.RemoveIDs {
		s.onRemoved(id)
	}
}

func (s *Shard) onAdded(id protocol.EntityID) {
	switch {
	case s.entities[id].state != RememberingStart: // added again, or given up
	case s.phase == shardOpen || s.phase == shardDraining:
		s.start(id)
	default:
		s.become(id, EntityAbsent)
		s.early = append(s.early, id)
	}
}

func (s *Shard) onRemoved(id protocol.EntityID) {
	e := s.entities[id]
	if e.state != RememberingStop {
		return
	}
	if e.wanted && (s.phase == shardOpen || s.phase == shardDraining) {
		s.become(id, RememberingStart)
		s.store.adds = append(s.store.adds, id)
		return
	}
	s.become(id, EntityAbsent)
	if e.wanted {
		s.early = append(s.early, id)
	}
}

// quiet reports whether nothing is written and nothing waits to be.
func (s *Shard) quiet() bool {
	if s.store.write.ID != 0 {
		return false
	}
	if !s.cfg.Remember {
		return true
	}
	return len(s.store.adds)+len(s.store.removes) == 0
}
