package protocol

import "slices"

// orphans are shards beyond the number of shards whose ids are still remembered: there were more when they were written. Nobody hosts them, so the
// coordinator has their ids started in the shards that these belong to now, one shard after the other, and forgets them only then.
type orphans struct {
	shards []ShardID // the first is being looked after
	ids    []EntityID
	read   StateRead // under way or failed; ID 0: none
	asked  bool      // a Forward is under way
}

// onOrphan queues a shard beyond the range.
func (c *Coordinator) onOrphan(s ShardID) {
	if slices.Contains(c.orphans.shards, s) {
		return
	}
	c.orphans.shards = append(c.orphans.shards, s)
	c.notify(Event{Kind: RememberedBeyondRange, Shard: s})
	if len(c.orphans.shards) == 1 {
		c.readOrphan()
	}
}

func (c *Coordinator) readOrphan() {
	c.orphans.read = c.readAs(StateRead{Kind: StateIDs, Shard: c.orphans.shards[0], Failed: c.orphans.read.Failed})
}

// onOrphanRead has what was read started, or, if that is nothing, takes the shard off the list.
func (c *Coordinator) onOrphanRead(ids []EntityID) {
	o := &c.orphans
	o.read = StateRead{}
	if len(ids) == 0 {
		c.write(StateWrite{Kind: StateRemembered, RemoveShards: o.shards[:1:1]})
		return
	}
	o.ids = ids
	c.forwardOrphans()
}

func (c *Coordinator) forwardOrphans() {
	o := &c.orphans
	n := min(len(o.ids), forwardMax)
	o.asked = true
	c.fx.Forward = append(c.fx.Forward, ForwardStart{IDs: o.ids[:n:n]})
}

// onStartedElsewhere forgets what was started. Nothing was: the next tick tries again.
func (c *Coordinator) onStartedElsewhere(ids []EntityID) {
	o := &c.orphans
	switch {
	case !o.asked:
		c.counts[countLate]++
	case len(ids) == 0:
		o.asked, o.read.ID = false, failedRead
	default:
		o.asked = false
		c.write(StateWrite{Kind: StateIDs, Shard: o.shards[0], RemoveIDs: ids})
	}
}

// onOrphanWritten goes on after ids of an orphan, or the orphan itself, have been forgotten.
func (c *Coordinator) onOrphanWritten(w StateWrite) {
	o := &c.orphans
	n := min(len(o.ids), forwardMax)
	switch {
	case w.Kind == StateRemembered:
		o.shards = o.shards[1:]
		if len(o.shards) > 0 {
			c.readOrphan()
		}
	case len(w.RemoveIDs) < n:
		o.ids, o.read.ID = nil, failedRead // the next tick finds the rest
	case len(o.ids) > n:
		o.ids = o.ids[n:]
		c.forwardOrphans()
	default:
		o.ids = nil
		c.readOrphan() // to see that nothing is left
	}
}

// retryOrphans reads again what could not be read, or not be started.
func (c *Coordinator) retryOrphans() {
	if c.orphans.read.ID == failedRead {
		c.readOrphan()
	}
}
