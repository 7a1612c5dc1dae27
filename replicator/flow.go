package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// flows carry messages that are larger than a frame between this replica and one peer: groups,
// items, and whatever holds large clocks (flow_clocks.go). They go in the bulk lane, one at a time
// each way, cut into parts, a window of parts on their way. What a flow carries counts as on its
// way as long as it waits or gets on: it is not sent to that peer a second time. A flow that does
// not get on is dropped in the end, at both sides; the sender of what it carried asks or is asked
// again.
//
// Memory, per peer: groups of up to Config.GroupMax bytes, or one, wait to go, and as much of other
// messages. Those that have begun are encoded, a group once for all peers. One message comes, of up
// to flowMax bytes, until Config.DonorExpiry after its last part.
//
// Invariants: no two flows of out carry the same; retryAt is set while out is not empty, dropAt
// while buf is not.
type flows struct {
	out     []flow // the first is on its way
	nextID  uint64
	retryAt time.Time
	tries   int    // retries without progress
	moved   uint64 // parts that have come, and times that parts were acknowledged

	in     uint64 // the flow that is coming, or came last
	total  uint32
	got    uint32
	buf    []byte
	dropAt time.Time // when to give up what is coming
	closed bool      // it has come whole, or was given up
}

type flow struct {
	id uint64 // given when it begins; 0: it waits
	cargo
	*largeMessage
	acked uint32
	next  uint32
}

// cargo says what a flow carries: a group of a space, the answer to a question of a repair, or what
// holds clocks.
type cargo struct {
	kind    int
	space   Space
	group   crdt.Range // of kindPush; else the zero Range
	session uint64     // of a repair
	about   uint64     // the question, or what else tells two of one kind apart
}

// isGroup reports whether the cargo is a group.
func (c cargo) isGroup() bool { return c.kind == kindPush }

// largeMessage is a message on its way in parts, to one peer or to several. It is encoded once,
// when the first part of it goes.
type largeMessage struct {
	msg  Message // nil when it has been encoded
	size int     // in bytes, without what is around the groups or items
	at   uint64  // epoch
	data []byte
}

func (c *largeMessage) encoded() []byte {
	if c.msg != nil {
		c.data, c.msg = AppendMessage(make([]byte, 0, c.size+flowExtra), c.msg), nil
	}
	return c.data
}

// Bounds of flows.
const (
	flowsMax  = 8    // groups waiting per peer, and as many other messages
	flowTries = 8    // retries without progress
	flowExtra = 1024 // bytes around a group

	clocksMax = 64 << 20 // bytes of a message with clocks: two of crdt.ClockOriginsMax origins fit
)

// flowMax bounds the bytes of a flow: one group or the clocks of one message, and what goes around
// it.
func (m *Machine) flowMax() int { return max(m.cfg.GroupMax, clocksMax) + flowExtra }

// groupCargo is a group on its way.
func (s *space) groupCargo(g crdt.Group) cargo {
	return cargo{kind: kindPush, space: s.id, group: crdt.Range{Origin: g.First().Origin, First: g.First().Seq, Last: g.Last().Seq}}
}

// sendLarge sends a message that is larger than a frame, unless it is on its way to the peer
// already. It reports whether it is; else there is no place, and the caller tries again when a flow
// has ended.
func (m *Machine) sendLarge(p *peer, c cargo, msg Message, size int) bool {
	f := &p.flows
	if i := f.find(c); i >= 0 {
		if c.isState() && i > 0 {
			f.out[i].largeMessage = m.largeMessageOf(c, msg, size) // it has not begun: the latest is worth more
		}
		return true
	}
	if n, bytes := f.waiting(c.isGroup()); n == flowsMax || n > 0 && bytes+size > m.cfg.GroupMax {
		return false
	}
	f.out = slices.Insert(f.out, f.placeOf(c), flow{cargo: c, largeMessage: m.largeMessageOf(c, msg, size)})
	if len(f.out) == 1 {
		m.pumpFlow(p)
	}
	return true
}

// largeMessageOf returns the parcel that goes to another peer already, or a new one.
func (m *Machine) largeMessageOf(c cargo, msg Message, size int) *largeMessage {
	if c.group != (crdt.Range{}) {
		for _, p := range m.peers {
			for i := range p.flows.out {
				if o := &p.flows.out[i]; o.cargo == c && o.at == msg.epochOf() {
					return o.largeMessage
				}
			}
		}
	}
	return &largeMessage{msg: msg, size: size, at: msg.epochOf()}
}

// find returns the index of the flow that carries c, -1 when none does.
func (f *flows) find(c cargo) int {
	return slices.IndexFunc(f.out, func(o flow) bool { return o.cargo == c })
}

// carries reports whether a flow to the peer carries a message of a repair.
func (f *flows) carries(session uint64) bool {
	return slices.ContainsFunc(f.out, func(o flow) bool { return o.session == session })
}

// placeOf says where a new flow waits: clocks before groups, which are many and waited for less.
func (f *flows) placeOf(c cargo) int {
	if !c.isGroup() {
		for i := 1; i < len(f.out); i++ {
			if f.out[i].isGroup() {
				return i
			}
		}
	}
	return len(f.out)
}

// waiting returns how many flows carry groups, or anything else, and their bytes. Each of the two
// has room of its own. Groups that cannot be applied before a repair is done come again and again,
// and would keep out the clocks of that repair.
func (f *flows) waiting(groups bool) (n, bytes int) {
	for i := range f.out {
		if f.out[i].isGroup() == groups {
			n++
			bytes += f.out[i].size
		}
	}
	return n, bytes
}

// join adds what is on its way in a space to a clock.
func (f *flows) join(s Space, c *crdt.Clock) {
	for i := range f.out {
		if r := f.out[i].group; f.out[i].space == s && r != (crdt.Range{}) {
			c.AddRange(r.Origin, r.First, r.Last)
		}
	}
}

// own calls fn with the groups of an origin that are on their way in a space, in the order in which
// they go.
func (f *flows) own(s Space, of crdt.Origin, fn func(r crdt.Range, size int)) {
	for i := range f.out {
		if o := &f.out[i]; o.space == s && o.group.Origin == of {
			fn(o.group, o.size)
		}
	}
}

// pumpFlow sends the parts of the first flow that the window allows.
func (m *Machine) pumpFlow(p *peer) {
	f := &p.flows
	if len(f.out) == 0 {
		return
	}
	o := &f.out[0]
	if o.id == 0 {
		f.nextID++
		o.id = f.nextID
	}
	data, window := o.encoded(), uint32(m.cfg.PieceWindow)
	if f.tries > 0 {
		window = 1 // to ask whether the peer is there
	}
	for total := m.parts(data); o.next < total && o.next < o.acked+window; o.next++ {
		at := int(o.next) * m.cfg.FrameMax
		part := data[at:min(at+m.cfg.FrameMax, len(data))]
		m.send(p, Bulk, &Part{Epoch: m.view.Epoch, Flow: o.id, Index: o.next, Total: total, Data: part})
	}
	if f.retryAt.IsZero() {
		f.retryAt = m.now.Add(m.backoff(f.tries))
		m.arm(f.retryAt)
	}
}

// parts is how many parts a message is cut into.
func (m *Machine) parts(data []byte) uint32 {
	return uint32((len(data) + m.cfg.FrameMax - 1) / m.cfg.FrameMax)
}

// endFlow makes place for the next flow, and goes on with what found no place.
func (m *Machine) endFlow(p *peer) {
	f := &p.flows
	f.out[0] = flow{}
	f.out = append(f.out[:0], f.out[1:]...)
	clear(f.out[len(f.out):cap(f.out)])
	f.retryAt, f.tries = zeroTime, 0
	m.pumpFlow(p)
	for _, s := range m.spaces {
		p.link(s).retryAt = zeroTime // what it carried is about to be acknowledged
		s.pushTo(p)
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
		m.endFlow(p)
		return
	}
	f.out[0].next = f.out[0].acked
	m.pumpFlow(p)
}

func (m *Machine) onPartAck(p *peer, msg *PartAck) {
	f := &p.flows
	if len(f.out) == 0 || f.out[0].id != msg.Flow {
		return
	}
	o := &f.out[0]
	if msg.Next <= o.acked || msg.Next > m.parts(o.encoded()) {
		return
	}
	o.acked, o.next = msg.Next, max(o.next, msg.Next)
	f.moved++
	f.tries, f.retryAt = 0, zeroTime
	if o.acked == m.parts(o.data) {
		m.endFlow(p)
		return
	}
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
			m.malformed(p)
			return
		}
		f.buf = append(f.buf, msg.Data...)
		f.got++
		f.moved++
		f.dropAt = m.now.Add(m.cfg.DonorExpiry)
		m.arm(f.dropAt)
	}
	m.send(p, Prompt, &PartAck{Epoch: m.view.Epoch, Flow: f.in, Next: f.got})
	if f.closed || f.got < f.total {
		return
	}
	data := f.buf
	f.buf, f.closed, f.dropAt = nil, true, zeroTime
	whole, err := DecodeMessage(data)
	if _, nested := whole.(*Part); err != nil || nested {
		m.malformed(p)
		return
	}
	m.onReceive(p.id, whole)
}

// giveUpFlow forgets the parts of a message whose sender has fallen silent. If the sender goes on
// after all, it is told that all parts have come. It then gets no ack of what was in the message,
// and sends that again.
func (f *flows) giveUpFlow() { f.buf, f.closed, f.got = nil, true, f.total }
