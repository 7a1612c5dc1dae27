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
	shards []protocol.ShardID // the first is being looked after
	ids    []protocol.EntityID
	read   protocol.StateRead // under way or failed; ID 0: none
	asked  bool               // a Forward is under way
}

// onOutOfRange queues a shard beyond the range.
func (c *Coordinator) onOutOfRange(s protocol.ShardID) {
	if slices.Contains(c.outOfRange.shards, s) {
		return
	}
	c.outOfRange.shards = append(c.outOfRange.shards, s)
	c.notify(protocol.Event{Kind: protocol.RememberedBeyondRange, Shard: s})
	if len(c.outOfRange.shards) == 1 {
		c.readOutOfRange()
	}
}

func (c *Coordinator) readOutOfRange() {
	c.outOfRange.read = c.readAs(protocol.StateRead{Kind: protocol.StateIDs, Shard: c.outOfRange.shards[0], Failed: c.outOfRange.read.Failed})
}

// onOutOfRangeRead has what was read started, or, if that is nothing, takes the shard off the list.
func (c *Coordinator) onOutOfRangeRead(ids []protocol.EntityID) {
	o := &c.outOfRange
	o.read = protocol.StateRead{}
	if len(ids) == 0 {
		c.write(protocol.StateWrite{Kind: protocol.StateRemembered, RemoveShards: o.shards[:1:1]})
		return
	}
	o.ids = ids
	c.forwardOutOfRange()
}

func (c *Coordinator) forwardOutOfRange() {
	o := &c.outOfRange
	n := min(len(o.ids), protocol.ForwardMax)
	o.asked = true
	c.fx.Forward = append(c.fx.Forward, protocol.ForwardStart{IDs: o.ids[:n:n]})
}

// onStartedElsewhere forgets what was started. Nothing was: the next tick tries again.
func (c *Coordinator) onStartedElsewhere(ids []protocol.EntityID) {
	o := &c.outOfRange
	switch {
	case !o.asked:
		c.counts[protocol.CountLate]++
	case len(ids) == 0:
		o.asked, o.read.ID = false, failedRead
	default:
		o.asked = false
		c.write(protocol.StateWrite{Kind: protocol.StateIDs, Shard: o.shards[0], RemoveIDs: ids})
	}
}

// onOutOfRangeWritten goes on after ids of a shard out of range, or the shard itself, have been
// forgotten.
func (c *Coordinator) onOutOfRangeWritten(w protocol.StateWrite) {
	o := &c.outOfRange
	n := min(len(o.ids), protocol.ForwardMax)
	switch {
	case w.Kind == protocol.StateRemembered:
		o.shards = o.shards[1:]
		if len(o.shards) > 0 {
			c.readOutOfRange()
		}
	case len(w.RemoveIDs) < n:
		o.ids, o.read.ID = nil, failedRead // the next tick finds the rest
	case len(o.ids) > n:
		o.ids = o.ids[n:]
		c.forwardOutOfRange()
	default:
		o.ids = nil
		c.readOutOfRange() // to see that nothing is left
	}
}

// retryOutOfRange reads again what could not be read, or not be started.
func (c *Coordinator) retryOutOfRange() {
	if c.outOfRange.read.ID == failedRead {
		c.readOutOfRange()
	}
}
