package shard

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Ids may lie in the set of a shard that they do not belong to, because the number of shards or the
// hash has changed since. They are started in their shards, which remembers them there, and only
// then forgotten here: whatever ends between the two, they are in one set at least.

// strangers are the ids in the set that belong to other shards now.
type strangers struct {
	*env
	ids       []protocol.EntityID // not started in their shards yet
	forwarded []protocol.EntityID // that are being started
	at        time.Time           // when to try the rest again
}

// forward has the next of them started.
func (sg *strangers) forward() {
	if sg.phase != shardOpen || len(sg.ids) == 0 || len(sg.forwarded) > 0 || sg.now.Before(sg.at) {
		return
	}
	n := min(len(sg.ids), protocol.ForwardMax)
	sg.forwarded, sg.ids = sg.ids[:n:n], sg.ids[n:]
	sg.at = time.Time{}
	sg.do(protocol.ForwardStart{IDs: sg.forwarded})
}

// due is when some are to be tried again.
func (sg *strangers) due() time.Time {
	if sg.phase != shardOpen || len(sg.ids) == 0 || len(sg.forwarded) > 0 {
		return time.Time{}
	}
	return sg.at
}

// answered ends a ForwardStart. Those of its entities that remain are tried again a little later.
func (sg *strangers) answered(remain func(protocol.EntityID) bool) {
	for _, id := range sg.forwarded {
		if remain(id) {
			sg.ids = append(sg.ids, id)
			sg.at = sg.now.Add(sg.cfg.Coordination.RetryInterval)
		}
	}
	sg.forwarded = nil
}
