package shard

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// store is the remembered part of a shard: what must be written, and the one write and the one read
// under way.
type store struct {
	*env
	entities *entities

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

	tries   int       // in vain, in a row
	lateAt  time.Time // when what is under way has taken long
	failure bool      // told with RememberFailed, and not over
	silent  bool      // likewise, and what is wrong was not known then
	fenced  bool      // a later hosting has begun: nothing is written any more
}

// newStore makes a store that has used so many IDs.
func newStore(e *env, es *entities, ids uint64) store {
	return store{env: e, entities: es, ids: ids, suspects: map[protocol.EntityID]bool{}}
}

// indexState reports whether the shard is in the set of shards that have remembered ids.
type indexState uint8

const (
	indexMaybe indexState = iota
	indexYes
	indexNo
	indexLost // an earlier owner took it out
)

// load reads the ids of the set.
func (sr *store) load() {
	sr.ids++
	sr.read = sr.ids
	sr.slowAfter()
	sr.fx.Read = append(sr.fx.Read, protocol.StateRead{
		ID: sr.read, Kind: protocol.StateIDs, Shard: sr.id, Failed: sr.misread,
	})
}

// pump begins the next write when none is under way.
func (sr *store) pump() {
	if !sr.cfg.Remember.Entities || sr.write.ID != 0 || sr.fenced {
		return
	}
	if sr.phase < shardOpen || sr.phase >= shardReturning {
		return
	}
	w, ok := sr.nextWrite()
	if !ok {
		return
	}
	sr.ids++
	w.ID = sr.ids
	sr.write = w
	sr.slowAfter()
	sr.fx.Write = append(sr.fx.Write, w)
}

// nextWrite takes what has gathered: first the shard's place among those with remembered ids, then
// ids, then, when the last is gone, that place again.
func (sr *store) nextWrite() (protocol.StateWrite, bool) {
	sr.adds = sr.stillWanted(sr.adds)
	index := protocol.StateWrite{Kind: protocol.StateRemembered}
	switch {
	case (len(sr.adds) > 0 || sr.index == indexLost && sr.entities.byID.len > 0) && sr.index != indexYes:
		sr.index = indexMaybe
		index.AddShards = []protocol.ShardID{sr.id}
		return index, true
	case len(sr.adds)+len(sr.removes) > 0:
		w := protocol.StateWrite{Kind: protocol.StateIDs, Shard: sr.id}
		w.AddIDs, sr.adds = cut(sr.adds)
		w.RemoveIDs, sr.removes = cut(sr.removes)
		return w, true
	case sr.entities.byID.len == 0 && sr.index != indexNo && !sr.now.Before(sr.tidyAt):
		sr.tidyAt = time.Time{}
		sr.index = indexMaybe
		index.RemoveShards = []protocol.ShardID{sr.id}
		return index, true
	}
	return protocol.StateWrite{}, false
}

// stillWanted drops additions whose entity has gone another way since.
func (sr *store) stillWanted(adds []protocol.EntityID) []protocol.EntityID {
	kept := adds[:0]
	for _, id := range adds {
		switch sr.entities.byID.of(id).state {
		case rememberingStart, entityActive, entityRemembered, waitingForRestart:
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

// quiet reports whether nothing is written and nothing waits to be.
func (sr *store) quiet() bool {
	if sr.write.ID != 0 {
		return false
	}
	if !sr.cfg.Remember.Entities || sr.fenced {
		return true
	}
	return len(sr.adds)+len(sr.removes) == 0
}

// didRead completes a read: ok says that it was under way and has succeeded. One that failed is
// repeated.
func (sr *store) didRead(in protocol.DidRead) (ok bool) {
	if in.ID != sr.read || in.ID == 0 {
		return false
	}
	sr.read = 0
	if in.Err != nil {
		sr.unread = true
		sr.misread++
		sr.retryLater(in.Err)
		return false
	}
	sr.misread = 0
	sr.works()
	return true
}

// awaits reports whether a write is under way.
func (sr *store) awaits(id uint64) bool { return id != 0 && id == sr.write.ID && !sr.failed }

// wrote completes a write: ok says that it was under way and has succeeded. One that failed is
// repeated.
func (sr *store) wrote(id uint64, err error) (w protocol.StateWrite, ok bool) {
	if !sr.awaits(id) {
		return w, false
	}
	if err != nil {
		sr.failed = true
		sr.retryLater(err)
		return w, false
	}
	w, sr.write = sr.write, protocol.StateWrite{}
	sr.works()
	switch {
	case len(w.AddShards) > 0:
		sr.index = indexYes
	case len(w.RemoveShards) > 0:
		sr.index = indexNo
	}
	return w, true
}

// giveUp ends all writing: the ids are another hosting's. It returns the ids that were to be removed.
// Those that were to be added wait, as their messages do, until the shard stops.
func (sr *store) giveUp(err error) (removed []protocol.EntityID) {
	removed = slices.Concat(sr.write.RemoveIDs, sr.removes)
	sr.write, sr.adds, sr.removes, sr.failed = protocol.StateWrite{}, nil, nil, false
	sr.fenced, sr.lateAt = true, time.Time{}
	sr.fails(err.Error())
	return removed
}

// loaded notes whether the set held any id, and so what is known of the index.
func (sr *store) loaded(any bool) {
	sr.index = indexYes
	if !any {
		sr.index, sr.tidyAt = indexMaybe, sr.now.Add(sr.cfg.Coordination.RetryInterval)
	}
}

// onUnlisted puts the shard back among those with remembered ids: an earlier owner's write that
// came late has taken it out.
func (sr *store) onUnlisted() {
	if sr.cfg.Remember.Entities && sr.phase >= shardOpen && sr.phase < shardStopping && sr.index == indexYes {
		sr.index = indexLost
	}
}
