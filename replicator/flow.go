package replicator

import (
	"encoding/binary"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// A message that is larger than a frame goes as a flow (push.Flows): a group, items, or clocks. A
// clock grows with every incarnation that has made an event, and has no bound here. Parts in the
// bulk lane delay no ack. Questions about dots are cut instead (package repair),
// because their answers come piece by piece in any case.

// clocksMax bounds the bytes of a message with clocks: two of crdt.ClockOriginsMax origins fit.
const clocksMax = 64 << 20

// flowMax bounds the bytes of a flow: one group or the clocks of one message, and what goes around
// it.
func (m *Machine) flowMax() int { return max(m.cfg.GroupMax, clocksMax) + push.FlowExtra }

// groupCargo is a group on its way.
func (s *space) groupCargo(g crdt.Group) push.Cargo { return push.GroupCargo(kindPush, uint8(s.id), g) }

// sendLarge sends a message that is larger than a frame, unless it is on its way to the peer
// already. It reports whether it is; else there is no place, and the caller tries again when a flow
// has ended.
func (m *Machine) sendLarge(p *peer, c push.Cargo, msg Message, size int) bool {
	switch p.flows.PlaceFor(c, size, m.cfg.GroupMax) {
	case push.NoPlace:
		return false
	case push.OnItsWay:
		return true
	}
	if p.flows.Put(c, m.largeOf(c, msg, size)) {
		m.pumpFlow(p)
	}
	return true
}

// largeOf returns the encoding of a group that goes to another peer already, or a new message.
func (m *Machine) largeOf(c push.Cargo, msg Message, size int) *push.Large {
	if c.Group != (crdt.Range{}) {
		for _, p := range m.peers {
			if l := p.flows.Carrying(c, msg.epochOf()); l != nil {
				return l
			}
		}
	}
	return push.NewLarge(size, msg.epochOf(), func(dst []byte) []byte { return AppendMessage(dst, msg) })
}

// pumpFlow sends the parts of the first flow that the window allows.
func (m *Machine) pumpFlow(p *peer) {
	p.flows.Pump(m.cfg.FrameMax, m.cfg.PieceWindow, func(part push.Part) {
		m.send(p, Bulk, &Part{Epoch: m.view.Epoch, Flow: part.Flow, Index: part.Index, Total: part.Total, Data: part.Data})
	})
	if p.flows.Arm(m.now.Add(m.backoff(p.flows.Tries()))) {
		m.arm(p.flows.RetryAt())
	}
}

// endFlow makes place for the next flow, and goes on with what found no place.
func (m *Machine) endFlow(p *peer) {
	p.flows.End()
	m.pumpFlow(p)
	for _, s := range m.spaces {
		p.link(s).window.Rest() // what it carried is about to be acknowledged
		s.pushTo(p)
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

func (m *Machine) onPartAck(p *peer, msg *PartAck) {
	switch moved, whole := p.flows.Acked(msg.Flow, msg.Next, m.cfg.FrameMax); {
	case whole:
		m.endFlow(p)
	case moved:
		m.pumpFlow(p)
	}
}

// onPart puts a message together again, and takes it when it is whole.
func (m *Machine) onPart(p *peer, msg *Part) {
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
	m.send(p, Prompt, &PartAck{Epoch: m.view.Epoch, Flow: flow, Next: next})
	if arrival != push.Complete {
		return
	}
	whole, err := DecodeMessage(data)
	if _, nested := whole.(*Part); err != nil || nested {
		m.malformed(p)
		return
	}
	m.onReceive(p.id, whole)
}

// clockBytes is about how many bytes a message with clocks takes; 0 of one that has a bound of its
// own.
func clockBytes(msg Message) int {
	switch msg := msg.(type) {
	case *Clock:
		return sizeOf(msg.Content, msg.Acked)
	case *Fetch:
		return sizeOf(msg.Dots)
	case *Answer:
		return sizeOf(msg.Extra)
	case *Compare:
		size := sizeOf(msg.More)
		for _, k := range msg.Keys {
			size += len(k) + 3
		}
		return size
	case *Compared:
		return sizeOf(msg.Extra, msg.Lacks)
	case *Report:
		size := sizeOf(msg.Acked)
		for _, past := range msg.Known {
			size += 9 * (3 + len(past.Voters) + len(past.Disks))
		}
		return size
	case *Pull:
		return sizeOf(msg.Content)
	case *Head:
		return sizeOf(msg.Clock)
	}
	return 0
}

// sizeOf is the number of bytes of some clocks, nil for none.
func sizeOf(clocks ...*crdt.Clock) (size int) {
	for _, c := range clocks {
		if c != nil {
			size += crdt.ClockSize(c)
		}
	}
	return size
}

// cargoOf says what a message with clocks is as a cargo.
func cargoOf(msg Message) push.Cargo {
	switch msg := msg.(type) {
	case *Clock:
		return push.Cargo{Kind: kindClock, Space: uint8(msg.Space), State: true}
	case *Fetch:
		hash := msg.Dots.Hash()
		return push.Cargo{Kind: kindFetch, Space: uint8(msg.Space), About: binary.BigEndian.Uint64(hash[:])}
	case *Answer:
		return push.Cargo{Kind: kindAnswer, Space: uint8(msg.Space), About: msg.ID}
	case *Compare:
		return push.Cargo{Kind: kindCompare, Space: uint8(msg.Space), About: msg.ID}
	case *Compared:
		return push.Cargo{Kind: kindCompared, Space: uint8(msg.Space), About: msg.ID}
	case *Report:
		return push.Cargo{Kind: kindReport, Space: uint8(msg.Space), State: true}
	case *Pull:
		return push.Cargo{Kind: kindPull, Space: uint8(msg.Space), Session: msg.Session}
	}
	head := msg.(*Head)
	return push.Cargo{Kind: kindHead, Space: uint8(head.Space), Session: head.Session}
}
