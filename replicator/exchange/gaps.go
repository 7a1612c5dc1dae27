package exchange

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Gaps asks peers for groups that are missing here, and sends peers what they lack, from the log.
type Gaps struct {
	r      *replica.Replica
	puller *repair.Puller
	wanted crdt.Clock // fetched, not here yet; forgotten when it is asked for again
}

// NewGaps makes the gaps of a replica. It asks for nothing while puller runs.
func NewGaps(r *replica.Replica, puller *repair.Puller) Gaps { return Gaps{r: r, puller: puller} }

// encodedMostly is how many bytes most groups take at most.
const encodedMostly = 64

// OnFetch sends the groups of the dots that a peer asks for.
func (g *Gaps) OnFetch(p *replica.Peer, msg *wire.Fetch) {
	g.Fill(p, g.r.Content().Minus(msg.Dots))
}

// Fill sends, in the order in which they were applied here, the groups that a clock lacks and that
// are not on their way to the peer in parts; or says that the log does not reach back so far.
func (g *Gaps) Fill(p *replica.Peer, clock *crdt.Clock) {
	if !g.r.Answers() || clock.Includes(g.r.Content()) {
		return
	}
	clock = clock.Clone()
	for filled := false; ; filled = true {
		p.Flows.Join(uint8(g.r.ID), clock)
		if clock.Includes(g.r.Content()) {
			return
		}
		groups, more, covered := g.r.Store.Missing(clock, g.r.Cfg.PushWindow)
		todo := make([]push.Group, len(groups))
		enc := make([]byte, 0, encodedMostly*len(groups)) // of one behind the other
		for i, events := range groups {
			at := len(enc)
			enc = crdt.AppendGroup(enc, events)
			todo[i] = push.Group{Events: events, Enc: enc[at:len(enc):len(enc)]}
			covered = covered && len(todo[i].Enc) <= g.r.Cfg.GroupMax
		}
		// or a group is too large to be put together there: a repair brings its items one by one,
		// and takes them whole
		if !covered {
			g.r.Send(p, effect.Prompt, &wire.LogTruncated{Epoch: g.r.View.Epoch, Space: g.r.ID})
			return
		}
		if !filled {
			g.r.Counters.Fills++
		}
		if small, ok := g.fillWith(p, todo, more); small || !more || !ok {
			return // the peer asks for more when it has this, or by gossip
		}
	}
}

// fillWith sends groups. It reports whether one of them was small enough for a message, and whether
// there was place for all.
func (g *Gaps) fillWith(p *replica.Peer, todo []push.Group, more bool) (small, ok bool) {
	var last *wire.Push
	for ok = true; ok && len(todo) > 0; {
		part := bundle(g.r, todo, 0)
		part.msg.Fill = true
		todo = todo[len(part.msg.Groups):]
		if part.bytes > g.r.Cfg.FrameMax {
			ok = g.r.SendLarge(p, part.msg, part.bytes)
			continue
		}
		g.r.Send(p, effect.Bulk, part.msg)
		last = part.msg
	}
	if last != nil {
		last.More = more || !ok
	}
	return last != nil, ok
}

// Fetch asks a peer for what the peer has and is neither here nor already asked for.
func (g *Gaps) Fetch(p *replica.Peer, extra *crdt.Clock) {
	missing := g.Unasked(extra)
	if missing.Empty() {
		return
	}
	g.wanted.Join(missing)
	g.r.Send(p, effect.Prompt, &wire.Fetch{Epoch: g.r.View.Epoch, Space: g.r.ID, Dots: missing})
}

// Unasked returns what of a clock is neither here nor already asked for; nothing while a repair runs:
// that brings it, or the next try does.
func (g *Gaps) Unasked(clock *crdt.Clock) *crdt.Clock {
	if g.puller.Running() {
		return &crdt.Clock{}
	}
	return clock.Minus(g.r.Content()).Minus(&g.wanted)
}

// AskAgain forgets what was fetched and has not come: it may be fetched again.
func (g *Gaps) AskAgain() { g.wanted = crdt.Clock{} }
