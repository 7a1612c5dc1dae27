package replicator

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/deadline"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// site is what the owners of one machine share: its settings, the time of the step, the members,
// and what the step brings about.
type site struct {
	roster
	cfg       settings.Config
	rng       *rand.Rand
	now       time.Time
	eff       effect.Effects
	stats     effect.Stats
	routes    *keyspace.Routes
	summarize func() [keyspace.Count]wire.Summary // what this replica holds

	linkAt time.Time // the earliest of what the links wait for
}

func newSite(cfg settings.Config, rng *rand.Rand) site {
	return site{roster: roster{self: cfg.Self}, cfg: cfg, rng: rng, routes: keyspace.NewRoutes(cfg.DurableKeys)}
}

// send sends a message: in parts if its clocks are larger than a frame, and behind what it must not
// overtake.
func (t *site) send(p *peer, lane effect.Lane, msg wire.Message) {
	size := wire.ClockBytes(msg)
	_, compares := msg.(*wire.Compare)
	if size > t.cfg.FrameMax || compares && p.flows.CarriesLike(wire.CargoOf(msg)) {
		if !t.sendLarge(p, msg, size) {
			t.stats.FlowsDropped++ // it is asked for again
		}
		return
	}
	t.eff.Send = append(t.eff.Send, effect.Envelope{To: p.id, Lane: lane, Msg: msg})
}

// due reports whether a time has come, and clears it.
func (t *site) due(at *time.Time) bool { return deadline.Due(at, t.now) }

// flowMax bounds the bytes of a flow: one group or the clocks of one message, and what goes around
// it.
func (t *site) flowMax() int { return max(t.cfg.GroupMax, clocksMax) + push.FlowExtra }

// sendLarge sends a message that is larger than a frame, unless it is on its way to the peer
// already. It reports whether it is; else there is no place, and the caller tries again when a flow
// has ended.
func (t *site) sendLarge(p *peer, msg wire.Message, size int) bool {
	c := wire.CargoOf(msg)
	switch p.flows.PlaceFor(c, size, t.cfg.GroupMax) {
	case push.NoPlace:
		return false
	case push.OnItsWay:
		return true
	}
	if p.flows.Put(c, t.largeOf(c, msg, size)) {
		t.pumpFlow(p)
	}
	return true
}

// largeOf returns the encoding of a group that goes to another peer already, or a new message.
func (t *site) largeOf(c push.Cargo, msg wire.Message, size int) *push.Large {
	if c.Group != (crdt.Range{}) {
		for _, p := range t.peers {
			if l := p.flows.Carrying(c, wire.EpochOf(msg)); l != nil {
				return l
			}
		}
	}
	return push.NewLarge(size, wire.EpochOf(msg), func(dst []byte) []byte { return wire.Append(dst, msg) })
}

// pumpFlow sends the parts of the first flow that the window allows.
func (t *site) pumpFlow(p *peer) {
	p.flows.Pump(t.cfg.FrameMax, t.cfg.PieceWindow, func(part push.Part) {
		t.send(p, effect.Bulk, &wire.Part{
			Epoch: t.view.Epoch, Flow: part.Flow, Index: part.Index, Total: part.Total, Data: part.Data,
		})
	})
	if p.flows.Arm(t.now.Add(t.backoff(p.flows.Tries()))) {
		t.arm(p.flows.RetryAt())
	}
}

// arm makes sure that the links are looked at not later than a time; zero: never.
func (t *site) arm(at time.Time) { t.linkAt = deadline.Earliest(t.linkAt, at) }

// backoff is how long to wait before the next try.
func (t *site) backoff(tries int) time.Duration {
	d := t.cfg.RetryInterval << min(tries, 16)
	return max(t.cfg.RetryInterval, min(d, t.cfg.GossipInterval))
}

// askAll asks all peers what they hold.
func (t *site) askAll() {
	for _, p := range t.peers {
		t.sendStatus(p, true)
	}
}

// sendStatus tells a peer the hashes of what this replica holds.
func (t *site) sendStatus(p *peer, ask bool) {
	t.send(p, effect.Prompt, &wire.Status{Epoch: t.view.Epoch, Ask: ask, Spaces: t.summarize()})
}

// reply answers an operation.
func (t *site) reply(id uint64, err error) {
	t.eff.Reply = append(t.eff.Reply, effect.Result{ID: id, Err: err})
}

// replyReader answers a read.
func (t *site) replyReader(id uint64, r crdt.Reader) {
	if r.Deleted() {
		t.reply(id, fmt.Errorf("%w: %q", crdt.ErrDeleted, r.Key()))
		return
	}
	t.eff.Reply = append(t.eff.Reply, effect.Result{ID: id, Reader: r})
}

// malformed counts what a peer has sent and makes no sense.
func (t *site) malformed(p *peer) {
	t.stats.Malformed++
	p.malformed++
	if t.now.Before(p.warnAt) {
		return
	}
	p.warnAt = t.now.Add(malformedEach)
	t.eff.Malformed = append(t.eff.Malformed, effect.Malformed{Peer: p.id, Count: p.malformed})
}

// clocksMax bounds the bytes of a message with clocks: two of crdt.ClockOriginsMax origins fit.
const clocksMax = 64 << 20

// malformedEach spaces out what is told of a peer whose messages make no sense.
const malformedEach = time.Minute
