package protocol

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership"
)

// onGetHomes answers what is known and finds homes for the rest. Who asks for a shard on the move is answered when it has a home.
func (c *Coordinator) onGetHomes(from UID, shards []ShardID) {
	if p := c.peers[from]; p == nil || !p.acked {
		c.counts[countForeign]++ // it would not be told of the next hand-off
		return
	}
	for _, s := range shards {
		st, ok := c.at(s)
		if !ok {
			continue
		}
		switch st.state {
		case seatHosting, seatHosted:
			c.out.home(from, Entry{Shard: s, Home: st.home, Token: st.token})
			continue
		case seatEmpty:
			c.want(s)
		case seatEnded:
			c.out.end(from, s)
			continue
		}
		if !slices.Contains(c.waiters[s], from) {
			c.waiters[s] = append(c.waiters[s], from)
		}
	}
	c.allocateHomeless()
}

// onRemembered finds homes for shards that have remembered ids and live nowhere.
func (c *Coordinator) onRemembered(shards []ShardID) {
	if c.mode != active {
		if c.mode > claiming {
			c.takeover.shards = append(c.takeover.shards, shards...)
		}
		return
	}
	for _, s := range shards {
		if int64(s) >= int64(len(c.seats)) {
			c.onOrphan(s)
			continue
		}
		if c.seats[s].state == seatEmpty && !c.view.Closing {
			c.want(s)
		}
	}
	c.allocateHomeless()
}

// want takes a shard from its home, if it has one, and puts it among those that need one.
func (c *Coordinator) want(s ShardID) {
	c.unseat(s)
	c.seats[s].state = seatWanted
	c.homeless = append(c.homeless, s)
}

// lose takes a shard from a home that does not host it any more. It gets another, unless the whole cluster shuts down: then it is stopped where it was, and
// who waits for it is told.
func (c *Coordinator) lose(s ShardID, closing bool) {
	if !closing {
		c.departs(s)
		c.vacate(s)
		return
	}
	c.unseat(s)
	c.arrives(s)
	c.seats[s] = seat{state: seatEnded, token: c.seats[s].token}
	for _, u := range c.waiters[s] {
		c.out.end(u, s)
	}
	delete(c.waiters, s)
	delete(c.stops, s)
}

// unseat takes a shard out of its home's load and out of a hand-off.
func (c *Coordinator) unseat(s ShardID) {
	st := &c.seats[s]
	if st.counts() {
		c.load(st.home, s, false)
	}
	delete(c.moves, s)
	st.home = 0
}

// load notes that a shard counts for a region, or does no more.
func (c *Coordinator) load(u UID, s ShardID, counts bool) {
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

// mayAllocate says whether anybody can take a shard. The gate of MinRegions stays open once it was passed.
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
func (c *Coordinator) mayHost(u UID) bool { return c.able(u) && !c.passes(u) }

// able says so too, of one that is passed over as well.
func (c *Coordinator) able(u UID) bool {
	p := c.peers[u]
	if p == nil || p.proxy || p.leaving || !p.acked || !p.sure || c.refused[u] {
		return false
	}
	m, ok := c.view.Member(u)
	return ok && m.Status == membership.Up && m.HasRole(c.cfg.Role)
}

// place decides the home of a shard. The decision is written before anybody acts on it.
func (c *Coordinator) place(s ShardID, home UID) {
	st := &c.seats[s]
	c.unseat(s)
	st.state, st.home, st.token = seatWriting, home, c.next()
	c.load(home, s, true)
	c.out.puts = append(c.out.puts, Entry{Shard: s, Home: home, Token: st.token})
}

// onWrote goes on with the decisions that a majority knows, as far as they still stand.
func (c *Coordinator) onWrote(id uint64, err error) {
	w, ok := c.writes[id]
	if !ok {
		c.counts[countLate]++
		return
	}
	delete(c.writes, id)
	c.tableWrites -= count(w.Kind == StateHomes)
	if err != nil {
		c.failed = append(c.failed, w)
		c.stateFailed(writeOp(w), err)
		return
	}
	c.stateWorks(writeOp(w))
	for _, e := range w.Homes {
		switch st := &c.seats[e.Shard]; {
		case st.token != e.Token:
		case st.state == seatWriting:
			st.state = seatHosting
			c.command(e.Shard)
			c.tell(e)
		case st.state == seatClearing:
			c.cleared(e)
		}
	}
	for _, u := range w.AddRegions {
		c.onRegionWritten(u)
	}
	if w.Kind == StateIDs || w.Kind == StateRemembered {
		c.onOrphanWritten(w)
	}
	c.allocateHomeless()
}

// command tells the home of a shard to host it.
func (c *Coordinator) command(s ShardID) {
	st := &c.seats[s]
	st.sent = c.ticks
	c.out.host(st.home, ShardToken{Shard: s, Token: st.token})
}

// tell answers those who wait for the home of a shard. Proxies, who do not see the table, are told of every move.
func (c *Coordinator) tell(e Entry) {
	for _, u := range c.waiters[e.Shard] {
		c.out.home(u, e)
	}
	delete(c.waiters, e.Shard)
	if !c.seats[e.Shard].moved {
		return
	}
	for _, p := range c.peers { // order: the outbox sorts by receiver
		if p.proxy {
			c.out.home(p.uid, e)
		}
	}
}

// onStarted notes that the home has taken the shard. If that is leaving, or the shard is to be stopped, it goes on at once.
func (c *Coordinator) onStarted(from UID, sts []ShardToken) {
	for _, t := range sts {
		st, ok := c.at(t.Shard)
		if !ok {
			continue
		}
		if st.home != from {
			c.counts[countForeign]++
			continue
		}
		if st.state != seatHosting || st.token != t.Token {
			c.counts[countLate]++
			continue
		}
		st.state = seatHosted
		if st.moved {
			c.notify(Event{Kind: ShardMoved, Shard: t.Shard, Peer: from, Token: t.Token, Took: c.arrives(t.Shard)})
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
	for i := range c.seats {
		if st := &c.seats[i]; st.state == seatHosting && st.sent+1 < c.ticks {
			c.counts[countRetries]++
			c.command(ShardID(i))
		}
	}
}

// onTable looks for entries that this coordinator has not written: a deposed one had begun to write them. It writes its own again, or
// finds a home for a shard that it did not know of.
func (c *Coordinator) onTable(es []Entry) {
	if c.mode != active {
		return
	}
	for _, e := range es {
		st, ok := c.at(e.Shard)
		if !ok || !st.token.Less(e.Token) || e.Token.Epoch > uint64(c.view.Epoch) {
			continue
		}
		c.counts[countForeign]++
		c.surpass(e.Token)
		switch {
		case st.state == seatEmpty && e.Home == 0:
			st.token = e.Token
		case st.state == seatClearing:
			c.clear(e.Shard)
		case st.state == seatEmpty && c.view.Closing:
			c.lose(e.Shard, true)
		case st.state == seatEmpty:
			c.want(e.Shard)
		case st.state == seatHosting || st.state == seatHosted:
			c.place(e.Shard, st.home)
		}
	}
	c.allocateHomeless()
}
