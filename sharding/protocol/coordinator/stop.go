package coordinator

import (
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onStopShards stops shards for good: each is handed off, and no home comes after. It is given one
// again only when a message asks. A shard that is on its way somewhere is stopped once it is there.
// A type that remembers entities is refused: every remembered id has to live, so its shard has a
// home.
func (c *Coordinator) onStopShards(from protocol.UID, shards []protocol.ShardID) {
	if c.cfg.Remember || c.view.Closing {
		c.counts[protocol.CountIgnored]++
		return
	}
	for _, s := range shards {
		st, ok := c.at(s)
		if !ok {
			continue
		}
		if st.state == stateUnallocated {
			c.out.rest(from, s)
			continue
		}
		if !slices.Contains(c.stops[s], from) {
			c.stops[s] = append(c.stops[s], from)
		}
		switch {
		case st.state == stateHosted:
			c.startMove(s)
		case st.state == stateWanted && len(c.waiters[s]) == 0:
			c.clear(s)
		}
	}
}

// vacate goes on with a shard that no region hosts any more. The shard stays so if a stop was asked
// for and no message waits. Otherwise it needs another home.
func (c *Coordinator) vacate(s protocol.ShardID) {
	if len(c.stops[s]) > 0 && len(c.waiters[s]) == 0 {
		c.clear(s)
		return
	}
	c.answerStop(s)
	c.want(s)
}

// clear writes that a shard has no home. The entry is above every hand-off, so it ends them: what
// waits for it from now on asks for a home.
func (c *Coordinator) clear(s protocol.ShardID) {
	c.unassign(s)
	c.arrives(s)
	st := &c.shards[s]
	st.state, st.token = stateClearing, c.next()
	c.out.puts = append(c.out.puts, protocol.Entry{Shard: s, Token: st.token})
}

// cleared answers the regions that wanted the shard stopped, now that later coordinators know it.
// Proxies do not see the table, so they are told. If a message has asked meanwhile, or the type
// remembers entities, the shard gets a home.
func (c *Coordinator) cleared(e protocol.Entry) {
	c.shards[e.Shard].state = stateUnallocated
	c.notify(protocol.Event{Kind: protocol.ShardAtRest, Shard: e.Shard, Token: e.Token})
	c.answerStop(e.Shard)
	for _, p := range c.peers { // order: the outbox sorts by receiver
		if p.proxy {
			c.out.home(p.uid, e)
		}
	}
	if len(c.waiters[e.Shard]) > 0 || c.cfg.Remember {
		c.want(e.Shard)
	}
}

func (c *Coordinator) answerStop(s protocol.ShardID) {
	for _, u := range c.stops[s] {
		c.out.rest(u, s)
	}
	delete(c.stops, s)
}
