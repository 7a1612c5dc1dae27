package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onGetHomes answers what is known and finds homes for the rest. A region that asks for a moving
// shard gets its answer when the shard has a home.
func (c *Coordinator) onGetHomes(from protocol.UID, shards []protocol.ShardID) {
	if p := c.peers[from]; p == nil || !p.acked {
		c.counts[protocol.CountOtherRole]++ // it would not be told of the next hand-off
		return
	}
	for _, s := range shards {
		st, ok := c.at(s)
		if !ok {
			continue
		}
		switch st.state {
		case stateHosting, stateHosted:
			c.out.home(from, protocol.Entry{Shard: s, Home: st.home, Token: st.token})
			continue
		case stateUnallocated:
			c.want(s)
		case stateEnded:
			c.out.end(from, s)
			continue
		}
		if !slices.Contains(c.waiters[s], from) {
			c.waiters[s] = append(c.waiters[s], from)
		}
	}
	c.allocateAll()
}

// onRemembered finds homes for shards that have remembered ids and live nowhere.
func (c *Coordinator) onRemembered(shards []protocol.ShardID) {
	if c.mode != active {
		if c.mode > leaseWaiting {
			c.takeover.shards = append(c.takeover.shards, shards...)
		}
		return
	}
	for _, s := range shards {
		if int64(s) >= int64(len(c.shards)) {
			c.onOutOfRange(s)
			continue
		}
		if c.shards[s].state == stateUnallocated && !c.view.Closing {
			c.want(s)
		}
	}
	c.allocateAll()
}

// want takes a shard from its home, if it has one, and puts it among those that need one.
func (c *Coordinator) want(s protocol.ShardID) {
	c.unassign(s)
	c.shards[s].state = stateWanted
	c.unallocated = append(c.unallocated, s)
}

// lose takes a shard from a home that does not host it any more. The shard gets another home,
// unless the whole cluster shuts down. Then it is stopped where it was, and every region that waits
// for it is told.
func (c *Coordinator) lose(s protocol.ShardID, closing bool) {
	if !closing {
		c.departs(s)
		c.vacate(s)
		return
	}
	c.unassign(s)
	c.arrives(s)
	c.shards[s] = shardState{state: stateEnded, token: c.shards[s].token}
	for _, u := range c.waiters[s] {
		c.out.end(u, s)
	}
	delete(c.waiters, s)
	delete(c.stops, s)
}

// unassign takes a shard out of its home's load and out of a hand-off.
func (c *Coordinator) unassign(s protocol.ShardID) {
	st := &c.shards[s]
	if st.counts() {
		c.load(st.home, s, false)
	}
	delete(c.moves, s)
	st.home = 0
}

// load notes that a shard counts for a region, or does no more.
func (c *Coordinator) load(u protocol.UID, s protocol.ShardID, counts bool) {
	p := c.peers[u]
	if p == nil {
		return
	}
	c.grouped = nil
	if counts {
		p.count++
	} else {
		p.count--
	}
	switch {
	case c.alloc == nil:
	case counts:
		c.alloc.Add(u, s)
	default:
		c.alloc.Remove(u, s)
	}
}

// mayAllocate says whether anybody can take a shard. The gate of MinRegions stays open once it was
// passed.
func (c *Coordinator) mayAllocate() bool {
	regions, able := 0, 0
	for _, p := range c.peers { // order: only counted
		if p.acked && !p.proxy {
			regions++
		}
		if c.mayHost(p.uid) {
			able++
		}
	}
	c.opened = c.opened || regions >= c.cfg.MinRegions
	return c.opened && able > 0
}

// mayHost says whether a member can be given shards.
func (c *Coordinator) mayHost(u protocol.UID) bool { return c.eligible(u) && !c.passes(u) }

// eligible says so too, of one that is passed over as well.
func (c *Coordinator) eligible(u protocol.UID) bool {
	p := c.peers[u]
	if p == nil || p.proxy || p.leaving || !p.acked || !p.sure || c.refused[u] {
		return false
	}
	m, ok := c.view.Member(u)
	return ok && m.Status == membership.Up && m.HasRole(c.cfg.Role)
}

// place decides the home of a shard. The decision is written before anybody acts on it.
func (c *Coordinator) place(s protocol.ShardID, home protocol.UID) {
	st := &c.shards[s]
	c.unassign(s)
	st.state, st.home, st.token = stateWriting, home, c.next()
	c.load(home, s, true)
	c.out.puts = append(c.out.puts, protocol.Entry{Shard: s, Home: home, Token: st.token})
}

// onWrote goes on with the decisions that a majority knows, as far as they still stand.
func (c *Coordinator) onWrote(id uint64, err error) {
	w, ok := c.writes[id]
	if !ok {
		c.counts[protocol.CountLate]++
		return
	}
	delete(c.writes, id)
	if w.Kind == protocol.StateHomes {
		c.tableWrites--
	}
	if err != nil {
		c.failed = append(c.failed, w)
		c.stateFailed(writeOp(w), err)
		return
	}
	c.stateWorks(writeOp(w))
	for _, e := range w.Homes {
		switch st := &c.shards[e.Shard]; {
		case st.token != e.Token:
		case st.state == stateWriting:
			st.state = stateHosting
			c.command(e.Shard)
			c.tell(e)
		case st.state == stateClearing:
			c.cleared(e)
		}
	}
	for _, u := range w.AddRegions {
		c.onRegionWritten(u)
	}
	if w.Kind == protocol.StateIDs || w.Kind == protocol.StateRemembered {
		c.onOutOfRangeWritten(w)
	}
	c.allocateAll()
}

// command tells the home of a shard to host it.
func (c *Coordinator) command(s protocol.ShardID) {
	st := &c.shards[s]
	st.sent = c.ticks
	c.out.host(st.home, protocol.ShardToken{Shard: s, Token: st.token})
}

// tell answers the regions that wait for the home of a shard. Proxies do not see the table, so they
// are told of every move.
func (c *Coordinator) tell(e protocol.Entry) {
	for _, u := range c.waiters[e.Shard] {
		c.out.home(u, e)
	}
	delete(c.waiters, e.Shard)
	if !c.shards[e.Shard].moved {
		return
	}
	for _, p := range c.peers { // order: the outbox sorts by receiver
		if p.proxy {
			c.out.home(p.uid, e)
		}
	}
}

// onStarted notes that the home has taken the shard. If the home is leaving, or the shard must be
// stopped, the next hand-off begins at once.
func (c *Coordinator) onStarted(from protocol.UID, sts []protocol.ShardToken) {
	for _, t := range sts {
		st, ok := c.at(t.Shard)
		if !ok {
			continue
		}
		if st.home != from {
			c.counts[protocol.CountOtherRole]++
			continue
		}
		if st.state != stateHosting || st.token != t.Token {
			c.counts[protocol.CountLate]++
			continue
		}
		st.state = stateHosted
		if st.moved {
			c.notify(protocol.Event{Kind: protocol.ShardMoved, Shard: t.Shard, Peer: from, Token: t.Token, Took: c.arrives(t.Shard)})
		}
		if len(c.stops[t.Shard]) > 0 && !c.view.Closing {
			c.startMove(t.Shard)
		} else if p := c.peers[from]; p != nil && p.leaving && !c.view.Closing && !c.now.Before(p.drainAt) && c.mayAllocate() {
			c.startMove(t.Shard)
		}
	}
}

// retryHosts repeats the commands that were not answered since the tick before.
func (c *Coordinator) retryHosts() {
	for i := range c.shards {
		if st := &c.shards[i]; st.state == stateHosting && st.sent+1 < c.ticks {
			c.counts[protocol.CountRetries]++
			c.command(protocol.ShardID(i))
		}
	}
}

// onTable looks for entries that this coordinator has not written: a deposed one had begun to write
// them. It writes its own again, or finds a home for a shard that it did not know of.
func (c *Coordinator) onTable(es []protocol.Entry) {
	if c.mode != active {
		return
	}
	for _, e := range es {
		st, ok := c.at(e.Shard)
		if !ok || !st.token.Less(e.Token) || e.Token.Epoch > uint64(c.view.Epoch) {
			continue
		}
		c.counts[protocol.CountOtherRole]++
		c.surpass(e.Token)
		switch {
		case st.state == stateUnallocated && e.Home == 0:
			st.token = e.Token
		case st.state == stateClearing:
			c.clear(e.Shard)
		case st.state == stateUnallocated && c.view.Closing:
			c.lose(e.Shard, true)
		case st.state == stateUnallocated:
			c.want(e.Shard)
		case st.state == stateHosting || st.state == stateHosted:
			c.place(e.Shard, st.home)
		}
	}
	c.allocateAll()
}
