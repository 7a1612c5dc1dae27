package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/repair"
)

// onPull pins the store and begins to tell. A replica that has not caught up does not donate (R4).
func (m *Machine) onPull(p *peer, msg *Pull) {
	s := m.spaces[msg.Space]
	m.donors.Supersede(p.id, uint8(s.id), msg.Session)
	d := m.donors.Find(p.id, uint8(s.id), msg.Session)
	if d == nil {
		if !s.answers() || m.donors.Len() >= m.cfg.DonorsMax {
			m.refuse(p, msg.Space, msg.Session)
			return
		}
		d = m.donors.Open(p.id, uint8(s.id), msg.Session, s.store, msg.Content)
	}
	s.learnContent(p, msg.Content)
	if p.id < m.cfg.Self {
		if since, yields := s.puller.Yield(p.id); yields {
			s.tellRepair(p.id, RepairYielded, 0, since)
		}
	}
	d.Touch(m.now.Add(m.cfg.DonorExpiry))
	m.send(p, Bulk, &Head{
		Epoch: m.view.Epoch, Space: s.id, Session: d.Session, Clock: d.Pin.Clock(), Digest: d.Pin.Digest(), Items: uint64(d.Pin.Len()),
	})
	first, bytes := repair.FirstItems(d.Items(d.News), m.cfg.FrameMax)
	m.sendItems(p, msg.Space, msg.Session, first, bytes)
	if d.Shares() {
		d.Want(0, 0, repair.FirstCells)
		m.workFor(d)
	}
}

func (m *Machine) refuse(p *peer, s Space, session uint64) {
	m.send(p, Prompt, &Refuse{Epoch: m.view.Epoch, Space: s, Session: session})
}

// workFor makes cells that a puller wants, and sends them.
func (m *Machine) workFor(d *repair.Donation) {
	p := m.peer(d.To)
	d.Work(m.cfg.FrameMax, func(c repair.Cells) {
		m.send(p, Bulk, &Cells{Epoch: m.view.Epoch, Space: Space(d.Space), Session: d.Session, Key: c.Key, From: c.From, Cells: c.Cells})
	})
}

// onMoreCells sends cells, now or when they are made.
func (m *Machine) onMoreCells(p *peer, msg *MoreCells) {
	d := m.donors.Find(p.id, uint8(msg.Space), msg.Session)
	if d == nil {
		m.refuse(p, msg.Space, msg.Session)
		return
	}
	d.Touch(m.now.Add(m.cfg.DonorExpiry))
	if !d.Want(msg.Key, msg.From, msg.Count) {
		m.malformed(p)
		m.refuse(p, msg.Space, msg.Session)
		return
	}
	m.workFor(d)
}

// onFetchItems answers a question about dots. KindSpares come from the store as it is now: an item
// is the same wherever its dot is alive.
func (m *Machine) onFetchItems(p *peer, msg *FetchItems) {
	s := m.spaces[msg.Space]
	if msg.Kind == repair.KindSpares {
		if !s.answers() {
			m.refuse(p, msg.Space, msg.Session)
			return
		}
		m.stats.Helped++
		a, bytes := repair.FirstItems(s.store.In(msg.Dots, crdt.Dot{}), m.cfg.FrameMax)
		a.ID = msg.ID
		m.sendItems(p, msg.Space, msg.Session, a, bytes)
		return
	}
	d := m.donors.Find(p.id, uint8(msg.Space), msg.Session)
	if d == nil {
		m.refuse(p, msg.Space, msg.Session)
		return
	}
	d.Touch(m.now.Add(m.cfg.DonorExpiry))
	var a repair.Answer
	bytes := 0
	switch msg.Kind {
	case repair.KindItems:
		a, bytes = repair.FirstItems(d.Items(msg.Dots), m.cfg.FrameMax)
	case repair.KindNames:
		a = d.Names(msg.Dots, m.cfg.FrameMax)
	case repair.KindSums:
		a = d.Sums(msg.Dots, msg.Sizes)
	}
	a.ID = msg.ID
	m.sendItems(p, msg.Space, msg.Session, a, bytes)
}

// sendItems sends an answer whose items take about so many bytes.
func (m *Machine) sendItems(p *peer, s Space, session uint64, a repair.Answer, bytes int) {
	msg := &Items{Epoch: m.view.Epoch, Space: s, Session: session, ID: a.ID, UpTo: a.UpTo, Names: a.Names, Sums: a.Sums, Items: a.Items}
	if bytes <= m.cfg.FrameMax {
		m.send(p, Bulk, msg)
		return
	}
	if !m.sendLarge(p, push.Cargo{Kind: kindItems, Space: uint8(s), Session: session, About: uint64(a.ID)}, msg, bytes) {
		m.stats.FlowsDropped++ // the peer asks again
	}
}

// onDone forgets what is not needed any more.
func (m *Machine) onDone(p *peer, msg *Done) {
	if m.donors.Close(p.id, uint8(msg.Space), msg.Session) {
		m.stats.Donated++
	}
}

// onDonorTime makes cells. It forgets the donations that have expired, and those to peers that have
// left.
func (m *Machine) onDonorTime() {
	m.donors.Expire(m.now, m.left)
	for _, d := range m.donors.All() {
		m.workFor(d)
	}
}
