package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// startMove begins the hand-off of a hosted shard.
func (c *Coordinator) startMove(s protocol.ShardID) {
	st := &c.shards[s]
	c.load(st.home, s, false)
	c.rests(s)
	st.state = stateFencing
	c.departs(s)
	if c.out.cohort == nil {
		c.out.cohort = &cohort{seq: c.seq, regions: c.audience()}
	}
	m := &move{
		id: c.next(), cohort: c.out.cohort, waiting: slices.Clone(c.out.cohort.regions), sent: c.ticks, deadline: c.now.Add(c.cfg.BeginTimeout),
	}
	c.moves[s] = m
	c.counts[protocol.CountHandOffs]++
	for _, u := range m.waiting {
		c.out.begin(u, m.cohort, c.asMove(s))
	}
}

// departs notes that a shard is on its way from its home, and since when; arrives how long that
// took.
func (c *Coordinator) departs(s protocol.ShardID) {
	c.shards[s].moved = true
	if _, already := c.departed[s]; !already {
		c.departed[s] = c.now
	}
}

func (c *Coordinator) arrives(s protocol.ShardID) (took time.Duration) {
	c.shards[s].moved = false
	if at, ok := c.departed[s]; ok {
		took = c.now.Sub(at)
		delete(c.departed, s)
	}
	return took
}

// audience are all regions and proxies that may have routed a message.
func (c *Coordinator) audience() []protocol.UID {
	var us []protocol.UID
	for _, p := range c.peersByUID() {
		if p.acked {
			us = append(us, p.uid)
		}
	}
	return us
}

func (c *Coordinator) asMove(s protocol.ShardID) protocol.Move {
	return protocol.Move{Shard: s, HandOff: c.moves[s].id, Owner: c.shards[s].home}
}

// moveOf finds the hand-off that a report is about; late reports are counted.
func (c *Coordinator) moveOf(t protocol.ShardToken) (*move, bool) {
	if m := c.moves[t.Shard]; m != nil && m.id == t.Token {
		return m, true
	}
	c.counts[protocol.CountLate]++
	return nil, false
}

func (c *Coordinator) onBeginAck(from protocol.UID, sts []protocol.ShardToken) {
	for _, t := range sts {
		if m, ok := c.moveOf(t); ok {
			m.waiting = protocol.Without(m.waiting, from)
			c.maybeStopping(t.Shard, m)
		}
	}
}

func (c *Coordinator) maybeStopping(s protocol.ShardID, m *move) {
	if st := &c.shards[s]; st.state == stateFencing && len(m.waiting) == 0 {
		st.state = stateStopping
		m.deadline = c.now.Add(c.cfg.HandOffTimeout)
	}
}

// onShardsStopped ends the old home of shards. Only the owner's word counts, and only about the
// hand-off in progress, or about the very command by which it hosted: then it has given the shard
// up by itself. It may come before the last BeginAck: the owner has all fences, an answer was lost.
func (c *Coordinator) onShardsStopped(from protocol.UID, sts []protocol.ShardToken) {
	for _, t := range sts {
		if st, ok := c.at(t.Shard); ok && st.givenUp(from, t.Token) {
			c.departs(t.Shard)
			if c.cfg.Lease { // it has lost that
				c.passOver(from)
			}
			c.rests(t.Shard)
			c.dislodged(t.Shard, from)
			continue
		}
		m, ok := c.moveOf(t)
		if !ok {
			continue
		}
		if c.shards[t.Shard].home != from {
			c.counts[protocol.CountOtherRole]++
			continue
		}
		c.counts[protocol.CountMoves]++
		if m.ends {
			c.clear(t.Shard)
			continue
		}
		c.vacate(t.Shard)
	}
	c.allocateAll()
}

// dislodged finds a home for a shard whose home has given it up by itself, but is there. While the
// whole cluster shuts down nothing moves: it starts again where it was, unless that is leaving.
func (c *Coordinator) dislodged(s protocol.ShardID, from protocol.UID) {
	switch {
	case !c.view.Closing:
		c.vacate(s)
	case c.eligible(from):
		c.place(s, from)
	default:
		c.lose(s, true)
	}
}

// abort takes a hand-off back: the owner's entry is written again under a higher token, so that
// every buffer is released to it.
func (c *Coordinator) abort(s protocol.ShardID, m *move) {
	owner := c.shards[s].home
	c.counts[protocol.CountAborts]++
	delete(c.stops, s) // a region that wants it asks again
	c.notify(protocol.Event{Kind: protocol.HandOffAborted, Shard: s, Peer: owner, Token: m.id, Count: len(m.waiting)})
	if p := c.peers[owner]; p != nil {
		p.drainAt = c.now.Add(2 * c.cfg.RetryInterval)
	}
	c.place(s, owner)
}

// retryMoves gives up hand-offs whose phase took too long. It repeats Begin to the members that
// have not answered.
func (c *Coordinator) retryMoves() {
	for _, s := range slices.Sorted(maps.Keys(c.moves)) {
		m := c.moves[s]
		if !c.now.Before(m.deadline) {
			c.abort(s, m)
			continue
		}
		if m.sent+1 >= c.ticks {
			continue
		}
		m.sent = c.ticks
		for _, u := range m.waiting {
			c.counts[protocol.CountRetries]++
			c.out.begin(u, m.cohort, c.asMove(s))
		}
		if len(m.waiting) == 0 { // the owner may have missed nothing but a reason to report again
			c.out.begin(c.shards[s].home, m.cohort, c.asMove(s))
		}
	}
}
