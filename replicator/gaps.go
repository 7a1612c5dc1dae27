package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/wire"
)

// gaps asks peers for groups that are missing here, and sends peers what they lack, from the log.
type gaps struct {
	*replica
	puller *repair.Puller
	wanted crdt.Clock // fetched, not here yet; forgotten when it is asked for again
}

// onFetch sends the groups of the dots that a peer asks for.
func (g *gaps) onFetch(p *peer, msg *wire.Fetch) {
	g.fill(p, g.content().Minus(msg.Dots))
}

// fill sends, in the order in which they were applied here, the groups that a clock lacks and that
// are not on their way to the peer in parts; or says that the log does not reach back so far.
func (g *gaps) fill(p *peer, clock *crdt.Clock) {
	if !g.answers() || clock.Includes(g.content()) {
		return
	}
	clock = clock.Clone()
	for filled := false; ; filled = true {
		p.flows.Join(uint8(g.id), clock)
		if clock.Includes(g.content()) {
			return
		}
		groups, more, covered := g.store.Missing(clock, g.cfg.PushWindow)
		todo := make([]push.Group, len(groups))
		for i, events := range groups {
			todo[i] = push.Group{Events: events, Enc: crdt.AppendGroup(nil, events)}
			covered = covered && len(todo[i].Enc) <= g.cfg.GroupMax
		}
		if !covered { // or a group is too large to be put together there: a repair brings its items one by one, and takes them whole
			g.send(p, Prompt, &wire.LogTruncated{Epoch: g.view.Epoch, Space: g.id})
			return
		}
		if !filled {
			g.stats.Fills++
		}
		if small, ok := g.fillWith(p, todo, more); small || !more || !ok {
			return // the peer asks for more when it has this, or by gossip
		}
	}
}

// fillWith sends groups. It reports whether one of them was small enough for a message, and whether
// there was place for all.
func (g *gaps) fillWith(p *peer, todo []push.Group, more bool) (small, ok bool) {
	var last *wire.Push
	for ok = true; ok && len(todo) > 0; {
		part := g.bundle(todo, 0)
		part.msg.Fill = true
		todo = todo[len(part.msg.Groups):]
		if part.bytes > g.cfg.FrameMax {
			ok = g.sendLarge(p, part.msg, part.bytes)
			continue
		}
		g.send(p, Bulk, part.msg)
		last = part.msg
	}
	if last != nil {
		last.More = more || !ok
	}
	return last != nil, ok
}

// fetch asks a peer for what the peer has and is neither here nor already asked for.
func (g *gaps) fetch(p *peer, extra *crdt.Clock) {
	if g.puller.Running() {
		return // the repair that is running brings it, or the next try does
	}
	missing := extra.Minus(g.content()).Minus(&g.wanted)
	if missing.Empty() {
		return
	}
	g.wanted.Join(missing)
	g.send(p, Prompt, &wire.Fetch{Epoch: g.view.Epoch, Space: g.id, Dots: missing})
}

// askAgain forgets what was fetched and has not come: it may be fetched again.
func (g *gaps) askAgain() { g.wanted = crdt.Clock{} }
