package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/wire"
)

// donating is the repairs of other replicas from here.
type donating struct {
	*site
	spaces [keyspace.Count]*space
	donors repair.Donors
}

// onPull pins the store and begins to tell. A replica that has not caught up does not donate (R4).
func (d *donating) onPull(p *peer, msg *wire.Pull) {
	s := d.spaces[msg.Space]
	d.donors.Supersede(p.id, uint8(s.id), msg.Session)
	n := d.donors.Find(p.id, uint8(s.id), msg.Session)
	if n == nil {
		if !s.answers() || d.donors.Len() >= d.cfg.DonorsMax {
			d.refuse(p, msg.Space, msg.Session)
			return
		}
		n = d.donors.Open(p.id, uint8(s.id), msg.Session, s.store, msg.Content)
	}
	s.learnContent(p, msg.Content)
	if p.id < d.cfg.Self {
		if since, yields := s.repairs.puller.Yield(p.id); yields {
			s.repairs.tell(p.id, effect.RepairYielded, 0, since)
		}
	}
	n.Touch(d.now.Add(d.cfg.DonorExpiry))
	d.send(p, effect.Bulk, &wire.Head{
		Epoch: d.view.Epoch, Space: s.id, Session: n.Session, Clock: n.Pin.Clock(), Digest: n.Pin.Digest(),
		Items: uint64(n.Pin.Len()),
	})
	first, bytes := repair.FirstItems(n.Items(n.News), d.cfg.FrameMax)
	d.sendItems(p, msg.Space, msg.Session, first, bytes)
	if n.Shares() {
		n.Want(0, 0, repair.FirstCells)
		d.workFor(n)
	}
}

func (d *donating) refuse(p *peer, s keyspace.Space, session uint64) {
	d.send(p, effect.Prompt, &wire.Refuse{Epoch: d.view.Epoch, Space: s, Session: session})
}

// workFor makes cells that a puller wants, and sends them.
func (d *donating) workFor(n *repair.Donation) {
	p := d.peer(n.To)
	n.Work(d.cfg.FrameMax, func(c repair.Cells) {
		d.send(p, effect.Bulk, &wire.Cells{
			Epoch: d.view.Epoch, Space: keyspace.Space(n.Space), Session: n.Session, Key: c.Key,
			From: c.From, Cells: c.Cells,
		})
	})
}

// onMoreCells sends cells, now or when they are made.
func (d *donating) onMoreCells(p *peer, msg *wire.MoreCells) {
	n := d.donors.Find(p.id, uint8(msg.Space), msg.Session)
	if n == nil {
		d.refuse(p, msg.Space, msg.Session)
		return
	}
	n.Touch(d.now.Add(d.cfg.DonorExpiry))
	if !n.Want(msg.Key, msg.From, msg.Count) {
		d.malformed(p)
		d.refuse(p, msg.Space, msg.Session)
		return
	}
	d.workFor(n)
}

// onFetchItems answers a question about dots. KindSpares come from the store as it is now: an item
// is the same wherever its dot is alive.
func (d *donating) onFetchItems(p *peer, msg *wire.FetchItems) {
	s := d.spaces[msg.Space]
	if msg.Kind == repair.KindSpares {
		if !s.answers() {
			d.refuse(p, msg.Space, msg.Session)
			return
		}
		d.stats.Helped++
		a, bytes := repair.FirstItems(s.store.In(msg.Dots, crdt.Dot{}), d.cfg.FrameMax)
		a.ID = msg.ID
		d.sendItems(p, msg.Space, msg.Session, a, bytes)
		return
	}
	n := d.donors.Find(p.id, uint8(msg.Space), msg.Session)
	if n == nil {
		d.refuse(p, msg.Space, msg.Session)
		return
	}
	n.Touch(d.now.Add(d.cfg.DonorExpiry))
	var a repair.Answer
	bytes := 0
	switch msg.Kind {
	case repair.KindItems:
		a, bytes = repair.FirstItems(n.Items(msg.Dots), d.cfg.FrameMax)
	case repair.KindNames:
		a = n.Names(msg.Dots, d.cfg.FrameMax)
	case repair.KindSums:
		a = n.Sums(msg.Dots, msg.Sizes)
	}
	a.ID = msg.ID
	d.sendItems(p, msg.Space, msg.Session, a, bytes)
}

// sendItems sends an answer whose items take about so many bytes.
func (d *donating) sendItems(p *peer, s keyspace.Space, session uint64, a repair.Answer, bytes int) {
	msg := &wire.Items{
		Epoch: d.view.Epoch, Space: s, Session: session, ID: a.ID, UpTo: a.UpTo, Names: a.Names,
		Sums: a.Sums, Items: a.Items,
	}
	if bytes <= d.cfg.FrameMax {
		d.send(p, effect.Bulk, msg)
		return
	}
	if !d.sendLarge(p, msg, bytes) {
		d.stats.FlowsDropped++ // the peer asks again
	}
}

// onDone forgets what is not needed any more.
func (d *donating) onDone(p *peer, msg *wire.Done) {
	if d.donors.Close(p.id, uint8(msg.Space), msg.Session) {
		d.stats.Donated++
	}
}

// onTime makes cells. It forgets the donations that have expired, and those to peers that have
// left.
func (d *donating) onTime() {
	d.donors.Expire(d.now, d.left)
	for _, n := range d.donors.All() {
		d.workFor(n)
	}
}
