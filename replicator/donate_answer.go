package replicator

import (
	"iter"
	"math/bits"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// Estimated bytes of an item beside its strings.
const itemBytes = 24

// runWalkMax bounds the items that are summed up for one run of dots. Each run of the puller holds
// far fewer of the puller's items. A run that holds more items here differs in any case: its sum is
// not the puller's, whatever it is.
const runWalkMax = 1 << 14

// onFetchItems answers a question about dots. KindSpares come from the store as it is now: an item
// is the same wherever its dot is alive.
func (m *Machine) onFetchItems(p *peer, msg *FetchItems) {
	s := m.spaces[msg.Space]
	if msg.Kind == KindSpares {
		if !s.answers() {
			m.refuse(p, msg.Space, msg.Session)
			return
		}
		m.stats.Helped++
		s.sendItems(p, msg.Session, msg.ID, s.store.In(msg.Dots, crdt.Dot{}))
		return
	}
	d := m.donation(p, msg.Space, msg.Session)
	if d == nil {
		m.refuse(p, msg.Space, msg.Session)
		return
	}
	d.touch()
	switch msg.Kind {
	case KindItems:
		d.giveItems(msg.ID, msg.Dots)
	case KindNames:
		d.giveNames(msg.ID, msg.Dots)
	case KindSums:
		d.giveSums(msg.ID, msg.Dots, msg.Sizes)
	}
}

func (d *donation) giveItems(id uint32, dots *crdt.Clock) {
	d.s.sendItems(d.to, d.session, id, d.pin.In(dots, crdt.Dot{}))
}

// sendItems sends as many items as a frame holds, and at least one.
func (s *space) sendItems(to *peer, session uint64, id uint32, items iter.Seq[*crdt.Item]) {
	m := s.m
	msg := &Items{Epoch: m.view.Epoch, Space: s.id, Session: session, ID: id}
	bytes := 0
	for it := range items {
		size := itemBytes + len(it.Key) + len(it.Path) + len(it.Payload)
		if bytes > 0 && bytes+size > m.cfg.FrameMax {
			msg.UpTo = msg.Items[len(msg.Items)-1].Dot
			break
		}
		msg.Items = append(msg.Items, it)
		bytes += size
	}
	if bytes > m.cfg.FrameMax {
		if !m.sendLarge(to, push.Cargo{Kind: kindItems, Space: uint8(s.id), Session: session, About: uint64(id)}, msg, bytes) {
			m.stats.FlowsDropped++ // the peer asks again
		}
	} else {
		m.send(to, Bulk, msg)
	}
}

// giveNames tells which of the dots are alive, as many as a frame holds.
func (d *donation) giveNames(id uint32, dots *crdt.Clock) {
	m := d.s.m
	msg := &Items{Epoch: m.view.Epoch, Space: d.s.id, Session: d.session, ID: id, Names: &crdt.Clock{}}
	bytes, n := 0, 0
	var last crdt.Dot
	for it := range d.pin.In(dots, crdt.Dot{}) {
		switch {
		case it.Dot.Origin != last.Origin:
			bytes += 24
		case it.Dot.Seq != last.Seq+1:
			bytes += 2 + bits.Len64(it.Dot.Seq-last.Seq)/8
		}
		if n++; n > 1 && bytes > m.cfg.FrameMax || n > workItems {
			msg.UpTo = last
			break
		}
		last = it.Dot
		msg.Names.Add(last)
	}
	m.send(d.to, Bulk, msg)
}

// giveSums adds up each run of the dots.
func (d *donation) giveSums(id uint32, dots *crdt.Clock, sizes []uint64) {
	m := d.s.m
	msg := &Items{Epoch: m.view.Epoch, Space: d.s.id, Session: d.session, ID: id}
	for _, run := range dots.Split(sizes) {
		sum, _ := d.pin.Sum(run, crdt.Dot{}, runWalkMax)
		msg.Sums = append(msg.Sums, sum)
	}
	m.send(d.to, Bulk, msg)
}
