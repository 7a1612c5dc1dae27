package replicator

import "time"

// flows carry messages that are larger than a frame between this replica and one peer: one at a time each way, cut into parts, a window of
// parts on their way. What cannot be carried is dropped; who sent it asks or is asked again.
type flows struct {
	out     []flow // the first is on its way
	nextID  uint64
	retryAt time.Time
	tries   int

	in     uint64 // the flow that is coming, or came last
	total  uint32
	got    uint32
	buf    []byte
	closed bool // it has come whole
}

type flow struct {
	id    uint64
	data  []byte // the message, encoded
	acked uint32
	next  uint32
}

// Bounds of flows.
const (
	flowsMax  = 8 // messages waiting per peer
	flowTries = 8 // retries without progress
)

// sendLarge sends a message whose encoding is larger than a frame.
func (m *Machine) sendLarge(p *peer, msg Message) {
	f := &p.flows
	data := AppendMessage(nil, msg)
	if len(f.out) >= flowsMax || len(data) > m.flowMax() {
		m.stats.FlowsDropped++
		return
	}
	f.nextID++
	f.out = append(f.out, flow{id: f.nextID, data: data})
	m.pumpFlow(p)
}

// flowMax bounds the bytes of a flow: one group, and what goes around it.
func (m *Machine) flowMax() int { return m.cfg.GroupMax + 1024 }

func (f *flow) total(frame int) uint32 { return uint32((len(f.data) + frame - 1) / frame) }

// pumpFlow sends the parts that the window allows.
func (m *Machine) pumpFlow(p *peer) {
	f := &p.flows
	for len(f.out) > 0 {
		o := &f.out[0]
		total := o.total(m.cfg.FrameMax)
		if o.acked < total {
			for o.next < total && o.next < o.acked+uint32(m.cfg.PieceWindow) {
				at := int(o.next) * m.cfg.FrameMax
				part := o.data[at:min(at+m.cfg.FrameMax, len(o.data))]
				m.send(p, Bulk, &Part{Epoch: m.view.Epoch, Flow: o.id, Index: o.next, Total: total, Data: part})
				o.next++
			}
			if f.retryAt.IsZero() {
				f.retryAt = m.now.Add(m.backoff(f.tries))
				m.arm(f.retryAt)
			}
			return
		}
		f.out = append(f.out[:0], f.out[1:]...)
		f.retryAt, f.tries = zeroTime, 0
	}
}

// retryFlow sends again what was not acknowledged.
func (m *Machine) retryFlow(p *peer) {
	f := &p.flows
	if len(f.out) == 0 {
		return
	}
	if f.tries++; f.tries > flowTries {
		m.stats.FlowsDropped++
		f.out = append(f.out[:0], f.out[1:]...)
		f.tries = 0
	} else {
		f.out[0].next = f.out[0].acked
	}
	m.pumpFlow(p)
}

func (m *Machine) onPartAck(p *peer, msg *PartAck) {
	f := &p.flows
	if len(f.out) == 0 || f.out[0].id != msg.Flow {
		return
	}
	o := &f.out[0]
	if msg.Next <= o.acked || msg.Next > o.next {
		return
	}
	o.acked = msg.Next
	f.tries, f.retryAt = 0, zeroTime
	m.pumpFlow(p)
}

// onPart puts a message together again, and takes it when it is whole.
func (m *Machine) onPart(p *peer, msg *Part) {
	f := &p.flows
	if msg.Flow > f.in {
		f.in, f.total, f.got, f.buf, f.closed = msg.Flow, msg.Total, 0, nil, false
	}
	if msg.Flow != f.in || msg.Total != f.total {
		return
	}
	if !f.closed && msg.Index == f.got {
		if len(f.buf)+len(msg.Data) > m.flowMax() {
			m.stats.Malformed++
			return
		}
		f.buf = append(f.buf, msg.Data...)
		f.got++
	}
	m.send(p, Prompt, &PartAck{Epoch: m.view.Epoch, Flow: f.in, Next: f.got})
	if f.closed || f.got < f.total {
		return
	}
	data := f.buf
	f.buf, f.closed = nil, true
	whole, err := DecodeMessage(data)
	if _, nested := whole.(*Part); err != nil || nested {
		m.stats.Malformed++
		return
	}
	m.onReceive(p.id, whole)
}
