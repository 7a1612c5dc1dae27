package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A message that is larger than a frame goes as a flow (push.Flows): a group, items, or clocks. A
// clock grows with every incarnation that has made an event, and has no bound here. Parts in the
// bulk lane delay no ack. Questions about dots are cut instead (package repair),
// because their answers come piece by piece in any case.

// transit is what is on its way to the peers and from them, and when it is tried again.
type transit struct {
	*site
	spaces [keyspace.Count]*space
}

// endFlow makes place for the next flow, and goes on with what found no place.
func (f *transit) endFlow(p *peer) {
	p.flows.End()
	f.pumpFlow(p)
	for _, s := range f.spaces {
		p.link(s.id).window.Rest() // what it carried is about to be acknowledged
		s.pusher.pushTo(p)
	}
}

// retryFlow sends again what was not acknowledged.
func (f *transit) retryFlow(p *peer) {
	switch {
	case p.flows.Len() == 0:
	case p.flows.Retry():
		f.stats.FlowsDropped++
		f.endFlow(p)
	default:
		f.pumpFlow(p)
	}
}

func (f *transit) onPartAck(p *peer, msg *wire.PartAck) {
	switch moved, whole := p.flows.Acked(msg.Flow, msg.Next, f.cfg.FrameMax); {
	case whole:
		f.endFlow(p)
	case moved:
		f.pumpFlow(p)
	}
}

// onPart puts a message together again, and returns it when it is whole.
func (f *transit) onPart(p *peer, msg *wire.Part) wire.Message {
	part := push.Part{Flow: msg.Flow, Index: msg.Index, Total: msg.Total, Data: msg.Data}
	dropAt := f.now.Add(f.cfg.DonorExpiry)
	data, arrival, err := p.coming.Add(part, f.flowMax(), dropAt)
	if err != nil {
		f.malformed(p)
		return nil
	}
	if arrival == push.Foreign {
		return nil
	}
	if arrival == push.Complete || p.coming.DropAt().Equal(dropAt) {
		f.arm(dropAt)
	}
	flow, next := p.coming.Next()
	f.send(p, effect.Prompt, &wire.PartAck{Epoch: f.view.Epoch, Flow: flow, Next: next})
	if arrival != push.Complete {
		return nil
	}
	whole, err := wire.Decode(data)
	if _, nested := whole.(*wire.Part); err != nil || nested {
		f.malformed(p)
		return nil
	}
	return whole
}

// onReachable notes whether a peer can be reached. Reachable peers are asked first, and nothing is
// pushed to the others. A peer that comes back is asked what it lacks.
func (f *transit) onReachable(id crdt.Origin, is bool) {
	p := f.peer(id)
	if p == nil || p.reachable == is {
		return
	}
	p.reachable = is
	if !is {
		return
	}
	f.sendStatus(p, true)
	for _, s := range f.spaces {
		p.link(s.id).window.SetTries(0)
		s.pusher.pushTo(p)
	}
}

// retry goes through what was unacknowledged for too long.
func (f *transit) retry() {
	for _, p := range f.peers {
		for _, s := range f.spaces {
			w := &p.link(s.id).window
			if w.Due(f.now) {
				s.pusher.retry(p)
			}
			f.arm(w.RetryAt())
		}
		if p.flows.Due(f.now) {
			f.retryFlow(p)
		}
		f.arm(p.flows.RetryAt())
		if p.coming.Due(f.now) {
			f.stats.FlowsDropped++
			p.coming.GiveUp()
		}
		f.arm(p.coming.DropAt())
	}
}
