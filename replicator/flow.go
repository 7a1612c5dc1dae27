package replicator

import (
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A message that is larger than a frame goes as a flow (push.Flows): a group, items, or clocks. A
// clock grows with every incarnation that has made an event, and has no bound here. Parts in the
// bulk lane delay no ack. Questions about dots are cut instead (package repair),
// because their answers come piece by piece in any case.

// clocksMax bounds the bytes of a message with clocks: two of crdt.ClockOriginsMax origins fit.
const clocksMax = 64 << 20

// endFlow makes place for the next flow, and goes on with what found no place.
func (m *Machine) endFlow(p *peer) {
	p.flows.End()
	m.pumpFlow(p)
	for _, s := range m.spaces {
		p.link(s.id).window.Rest() // what it carried is about to be acknowledged
		s.pusher.pushTo(p)
	}
}

// retryFlow sends again what was not acknowledged.
func (m *Machine) retryFlow(p *peer) {
	switch {
	case p.flows.Len() == 0:
	case p.flows.Retry():
		m.stats.FlowsDropped++
		m.endFlow(p)
	default:
		m.pumpFlow(p)
	}
}

func (m *Machine) onPartAck(p *peer, msg *wire.PartAck) {
	switch moved, whole := p.flows.Acked(msg.Flow, msg.Next, m.cfg.FrameMax); {
	case whole:
		m.endFlow(p)
	case moved:
		m.pumpFlow(p)
	}
}

// onPart puts a message together again, and takes it when it is whole.
func (m *Machine) onPart(p *peer, msg *wire.Part) {
	part := push.Part{Flow: msg.Flow, Index: msg.Index, Total: msg.Total, Data: msg.Data}
	dropAt := m.now.Add(m.cfg.DonorExpiry)
	data, arrival, err := p.coming.Add(part, m.flowMax(), dropAt)
	if err != nil {
		m.malformed(p)
		return
	}
	if arrival == push.Foreign {
		return
	}
	if arrival == push.Complete || p.coming.DropAt().Equal(dropAt) {
		m.arm(dropAt)
	}
	flow, next := p.coming.Next()
	m.send(p, Prompt, &wire.PartAck{Epoch: m.view.Epoch, Flow: flow, Next: next})
	if arrival != push.Complete {
		return
	}
	whole, err := wire.Decode(data)
	if _, nested := whole.(*wire.Part); err != nil || nested {
		m.malformed(p)
		return
	}
	m.onReceive(p.id, whole)
}
