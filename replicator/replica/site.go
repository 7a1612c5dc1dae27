package replica

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Site is what the owners of one machine share: its settings, the time of the step, the members,
// and what the step brings about.
type Site struct {
	Roster
	Cfg       settings.Config
	Rng       *rand.Rand
	Now       time.Time
	Eff       effect.Effects
	Counters  effect.Stats
	Routing   *keyspace.Routes
	Summarize func() [keyspace.Count]wire.Summary // what this replica holds

	LinkAt time.Time // the earliest of what the links wait for
}

// NewSite makes the site of a machine without a view. The settings have their defaults filled in.
func NewSite(cfg settings.Config, rng *rand.Rand) Site {
	cfg.DurableKeys = keyspace.PatternsOf(cfg.DurableKeys, cfg.Reserved)
	return Site{Roster: Roster{self: cfg.Self}, Cfg: cfg, Rng: rng, Routing: keyspace.NewRoutes(cfg.DurableKeys)}
}

// CheckKey returns an error if no key of this data can be called so.
func (t *Site) CheckKey(key string) error { return keyspace.CheckKey(key, t.Cfg.Reserved) }

// Own are those of the patterns that are about keys of this data.
func (t *Site) Own(patterns []string) []string { return keyspace.PatternsOf(patterns, t.Cfg.Reserved) }

// Send sends a message: in parts if its clocks are larger than a frame, and behind what it must not
// overtake.
func (t *Site) Send(p *Peer, lane effect.Lane, msg wire.Message) {
	size := wire.ClockBytes(msg)
	_, compares := msg.(*wire.Compare)
	if size > t.Cfg.FrameMax || compares && p.Flows.CarriesLike(wire.CargoOf(msg)) {
		if !t.SendLarge(p, msg, size) {
			t.Counters.FlowsDropped++ // it is asked for again
		}
		return
	}
	t.Eff.Send = append(t.Eff.Send, effect.Envelope{To: p.ID, Lane: lane, Msg: msg})
}

// Due reports whether a time has come, and clears it.
func (t *Site) Due(at *time.Time) bool { return !at.IsZero() && timer.Due(at, t.Now) }

// FlowMax bounds the bytes of a flow: one group or the clocks of one message, and what goes around
// it.
func (t *Site) FlowMax() int { return max(t.Cfg.GroupMax, clocksMax) + push.FlowExtra }

// SendLarge sends a message that is larger than a frame, unless it is on its way to the peer
// already. It reports whether it is; else there is no place, and the caller tries again when a flow
// has ended.
func (t *Site) SendLarge(p *Peer, msg wire.Message, size int) bool {
	c := wire.CargoOf(msg)
	switch p.Flows.PlaceFor(c, size, t.Cfg.GroupMax) {
	case push.NoPlace:
		return false
	case push.OnItsWay:
		return true
	}
	if p.Flows.Put(c, t.largeOf(c, msg, size)) {
		t.PumpFlow(p)
	}
	return true
}

// largeOf returns the encoding of a group that goes to another peer already, or a new message.
func (t *Site) largeOf(c push.Cargo, msg wire.Message, size int) *push.Large {
	if c.Group != (crdt.Range{}) {
		for _, p := range t.Peers {
			if l := p.Flows.Carrying(c, wire.EpochOf(msg)); l != nil {
				return l
			}
		}
	}
	return push.NewLarge(size, wire.EpochOf(msg), func(dst []byte) []byte { return wire.Append(dst, msg) })
}

// PumpFlow sends the parts of the first flow that the window allows.
func (t *Site) PumpFlow(p *Peer) {
	p.Flows.Pump(t.Cfg.FrameMax, t.Cfg.PieceWindow, func(part push.Part) {
		t.Send(p, effect.Bulk, &wire.Part{
			Epoch: t.View.Epoch, Flow: part.Flow, Index: part.Index, Total: part.Total, Data: part.Data,
		})
	})
	if p.Flows.Arm(t.Now.Add(t.Backoff(p.Flows.Tries()))) {
		t.Arm(p.Flows.RetryAt())
	}
}

// Arm makes sure that the links are looked at not later than a time; zero: never.
func (t *Site) Arm(at time.Time) { t.LinkAt = timer.Earliest(t.LinkAt, at) }

// Backoff is how long to wait before the next try.
func (t *Site) Backoff(tries int) time.Duration {
	return timer.Backoff(t.Cfg.RetryInterval, max(t.Cfg.RetryInterval, t.Cfg.GossipInterval), tries)
}

// AskAll asks all peers what they hold.
func (t *Site) AskAll() {
	for _, p := range t.Peers {
		t.SendHoldings(p, true)
	}
}

// SendHoldings tells a peer the hashes of what this replica holds.
func (t *Site) SendHoldings(p *Peer, ask bool) {
	t.Send(p, effect.Prompt, &wire.Holdings{Epoch: t.View.Epoch, Ask: ask, Spaces: t.Summarize()})
}

// Reply answers an operation.
func (t *Site) Reply(id uint64, err error) {
	t.Eff.Reply = append(t.Eff.Reply, effect.Result{ID: id, Err: err})
}

// ReplyReader answers a read.
func (t *Site) ReplyReader(id uint64, r crdt.Reader) {
	if r.Deleted() {
		t.Reply(id, fmt.Errorf("%w: %q", crdt.ErrDeleted, r.Key()))
		return
	}
	t.Eff.Reply = append(t.Eff.Reply, effect.Result{ID: id, Read: true, Reader: r})
}

// Malformed counts what a peer has sent and makes no sense.
func (t *Site) Malformed(p *Peer) {
	t.Counters.Malformed++
	p.malformed++
	if t.Now.Before(p.warnAt) {
		return
	}
	p.warnAt = t.Now.Add(malformedEach)
	t.Eff.Malformed = append(t.Eff.Malformed, effect.Malformed{Peer: p.ID, Count: p.malformed})
}

// clocksMax bounds the bytes of a message with clocks: two of dots.RowsMax origins fit.
const clocksMax = 64 << 20

// malformedEach spaces out what is told of a peer whose messages make no sense.
const malformedEach = time.Minute
