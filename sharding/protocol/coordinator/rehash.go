package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// outOfRange are shards beyond the number of shards whose ids are still remembered. The type had
// more shards when the ids were written. No region hosts these shards. The coordinator has their
// ids started in the shards to which the ids belong now, one old shard after the other. Only then
// does it forget them.
type outOfRange struct {
	*env
	shards []protocol.ShardID // the first is being looked after
	ids    []protocol.EntityID
	read   protocol.StateRead // under way or failed; ID 0: none
	asked  bool               // a Forward is under way
}

// add queues a shard beyond the range.
func (or *outOfRange) add(sr *store, s protocol.ShardID) {
	if slices.Contains(or.shards, s) {
		return
	}
	or.shards = append(or.shards, s)
	or.notify(protocol.Event{Kind: protocol.RememberedBeyondRange, Shard: s})
	if len(or.shards) == 1 {
		or.begin(sr)
	}
}

func (or *outOfRange) begin(sr *store) {
	or.read = sr.readAs(protocol.StateRead{Kind: protocol.StateIDs, Shard: or.shards[0], Failed: or.read.Failed})
}

// onRead has what was read started, or, if that is nothing, takes the shard off the list.
func (or *outOfRange) onRead(sr *store, ids []protocol.EntityID) {
	or.read = protocol.StateRead{}
	if len(ids) == 0 {
		sr.write(protocol.StateWrite{Kind: protocol.StateRemembered, RemoveShards: or.shards[:1:1]})
		return
	}
	or.ids = ids
	or.forward()
}

func (or *outOfRange) forward() {
	n := min(len(or.ids), protocol.ForwardMax)
	or.asked = true
	or.fx.Forward = append(or.fx.Forward, protocol.ForwardStart{IDs: or.ids[:n:n]})
}

// onStartedElsewhere forgets what was started. Nothing was: the next tick tries again.
func (or *outOfRange) onStartedElsewhere(sr *store, ids []protocol.EntityID) {
	switch {
	case !or.asked:
		or.counts[protocol.CountLate]++
	case len(ids) == 0:
		or.asked, or.read.ID = false, failedRead
	default:
		or.asked = false
		sr.write(protocol.StateWrite{Kind: protocol.StateIDs, Shard: or.shards[0], RemoveIDs: ids})
	}
}

// onWritten goes on after ids of a shard out of range, or the shard itself, have been
// forgotten.
func (or *outOfRange) onWritten(sr *store, w protocol.StateWrite) {
	n := min(len(or.ids), protocol.ForwardMax)
	switch {
	case w.Kind == protocol.StateRemembered:
		or.shards = or.shards[1:]
		if len(or.shards) > 0 {
			or.begin(sr)
		}
	case len(w.RemoveIDs) < n:
		or.ids, or.read.ID = nil, failedRead // the next tick finds the rest
	case len(or.ids) > n:
		or.ids = or.ids[n:]
		or.forward()
	default:
		or.ids = nil
		or.begin(sr) // to see that nothing is left
	}
}

// retry reads again what could not be read, or not be started.
func (or *outOfRange) retry(sr *store) {
	if or.read.ID == failedRead {
		or.begin(sr)
	}
}
