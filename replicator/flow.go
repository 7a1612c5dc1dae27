package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A message that is larger than a frame goes as a flow (push.Flows): a group, items, or clocks. A
// clock grows with every incarnation that has made an event, and has no bound here. Parts in the
// bulk lane delay no ack. Questions about dots are cut instead (package repair),
// because their answers come piece by piece in any case.

// transit is what is on its way to the peers and from them, and when it is tried again.
type transit struct {
	*replica.Site
	spaces [keyspace.Count]*space
}

// endFlow makes place for the next flow, and goes on with what found no place.
func (f *transit) endFlow(p *replica.Peer) {
	p.Flows.End()
	f.PumpFlow(p)
	for _, s := range f.spaces {
		p.Link(s.ID).Window.Rest() // what it carried is about to be acknowledged
		s.pusher.PushTo(p)
	}
}

// retryFlow sends again what was not acknowledged.
func (f *transit) retryFlow(p *replica.Peer) {
	switch {
	case p.Flows.Len() == 0:
	case p.Flows.Retry():
		f.Counters.FlowsDropped++
		f.endFlow(p)
	default:
		f.PumpFlow(p)
	}
}

func (f *transit) onPartAck(p *replica.Peer, msg *wire.PartAck) {
	switch moved, whole := p.Flows.Acked(msg.Flow, msg.Next, f.Cfg.FrameMax); {
	case whole:
		f.endFlow(p)
	case moved:
		f.PumpFlow(p)
	}
}

// onPart puts a message together again. When it is whole, it is decoded between two steps: that takes
// as long as the message is large, and no step does.
func (f *transit) onPart(p *replica.Peer, msg *wire.Part) {
	part := push.Part{Flow: msg.Flow, Index: msg.Index, Total: msg.Total, Data: msg.Data}
	dropAt := f.Now.Add(f.Cfg.DonorExpiry)
	data, arrival, err := p.Coming.Add(part, f.FlowMax(), dropAt)
	switch {
	case err != nil:
		f.Malformed(p)
		return
	case arrival == push.Foreign:
		return
	case arrival == push.Complete: // acknowledged when it is decoded, or when the peer sends a part again
		f.Eff.Whole = append(f.Eff.Whole, effect.Whole{From: p.ID, Flow: msg.Flow, Data: data})
		return
	}
	if p.Coming.DropAt().Equal(dropAt) {
		f.Arm(dropAt)
	}
	f.ackParts(p)
}

// onDecoded makes place for a peer's next message.
func (f *transit) onDecoded(p *replica.Peer, flow uint64) {
	if p.Coming.Decoded(flow) {
		f.ackParts(p)
	}
}

func (f *transit) ackParts(p *replica.Peer) {
	flow, next := p.Coming.Next()
	f.Send(p, effect.Prompt, &wire.PartAck{Epoch: f.View.Epoch, Flow: flow, Next: next})
}

// onReachable notes whether a peer can be reached. Reachable peers are asked first, and nothing is
// pushed to the others. A peer that comes back is asked what it lacks.
func (f *transit) onReachable(id crdt.Origin, is bool) {
	p := f.Peer(id)
	if p == nil || p.Reachable == is {
		return
	}
	p.Reachable = is
	if !is {
		return
	}
	f.SendHoldings(p, true)
	for _, s := range f.spaces {
		p.Link(s.ID).Window.SetTries(0)
		s.pusher.PushTo(p)
	}
}

// retry goes through what was unacknowledged for too long.
func (f *transit) retry() {
	for _, p := range f.Peers {
		for _, s := range f.spaces {
			w := &p.Link(s.ID).Window
			if w.Due(f.Now) {
				s.pusher.Retry(p)
			}
			f.Arm(w.RetryAt())
		}
		if p.Flows.Due(f.Now) {
			f.retryFlow(p)
		}
		f.Arm(p.Flows.RetryAt())
		if p.Coming.Due(f.Now) {
			f.Counters.FlowsDropped++
			p.Coming.GiveUp()
		}
		f.Arm(p.Coming.DropAt())
	}
}
