package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// donating is the repairs of other replicas from here.
type donating struct {
	*replica.Site
	spaces [keyspace.Count]*space
	donors repair.Donors
}

// onPull pins the store and begins to tell. A replica that has not caught up does not donate (R4). It pins once for
// a session: when the donation has expired, a question that is repeated is refused. Otherwise the peer could take the
// clock of one moment with the items of another.
func (d *donating) onPull(p *replica.Peer, msg *wire.Pull) {
	s := d.spaces[msg.Space]
	d.donors.Supersede(p.ID, uint8(s.ID), msg.Session)
	n, l := d.donors.Find(p.ID, uint8(s.ID), msg.Session), p.Link(s.ID)
	if n == nil {
		if l.Donated == msg.Session || !s.Answers() || d.donors.Len() >= d.Cfg.DonorsMax {
			d.refuse(p, msg.Space, msg.Session)
			return
		}
		l.Donated = msg.Session
		n = d.donors.Open(p.ID, uint8(s.ID), msg.Session, s.Store, msg.Content)
	}
	s.LearnContent(p, msg.Content)
	if p.ID < d.Cfg.Self {
		if since, yields := s.repairs.puller.Yield(p.ID); yields {
			s.repairs.tell(p.ID, effect.RepairYielded, 0, since)
		}
	}
	n.Touch(d.Now.Add(d.Cfg.DonorExpiry))
	d.Send(p, effect.Bulk, &wire.Head{
		Epoch: d.View.Epoch, Space: s.ID, Session: n.Session, Clock: n.Pin.Clock(), Digest: n.Pin.Digest(),
		Items: uint64(n.Pin.Len()),
	})
	first, bytes := repair.FirstItems(n.Items(n.News), d.Cfg.FrameMax)
	d.sendItems(p, msg.Space, msg.Session, first, bytes)
	if n.Shares() {
		n.Want(0, 0, repair.FirstCells)
		d.workFor(n)
	}
}

func (d *donating) refuse(p *replica.Peer, s keyspace.Space, session uint64) {
	d.Send(p, effect.Prompt, &wire.Refuse{Epoch: d.View.Epoch, Space: s, Session: session})
}

// workFor makes cells that a puller wants, and sends them.
func (d *donating) workFor(n *repair.Donation) {
	p := d.Peer(n.To)
	n.Work(d.Cfg.FrameMax, func(c repair.Cells) {
		d.Send(p, effect.Bulk, &wire.Cells{
			Epoch: d.View.Epoch, Space: keyspace.Space(n.Space), Session: n.Session, Key: c.Key,
			From: c.From, Cells: c.Cells,
		})
	})
}

// onMoreCells sends cells, now or when they are made.
func (d *donating) onMoreCells(p *replica.Peer, msg *wire.MoreCells) {
	n := d.donors.Find(p.ID, uint8(msg.Space), msg.Session)
	if n == nil {
		d.refuse(p, msg.Space, msg.Session)
		return
	}
	n.Touch(d.Now.Add(d.Cfg.DonorExpiry))
	if !n.Want(msg.Key, msg.From, msg.Count) {
		d.Malformed(p)
		d.refuse(p, msg.Space, msg.Session)
		return
	}
	d.workFor(n)
}

// onFetchItems answers a question about dots. KindSpares come from the store as it is now: an item
// is the same wherever its dot is alive.
func (d *donating) onFetchItems(p *replica.Peer, msg *wire.FetchItems) {
	s := d.spaces[msg.Space]
	if msg.Kind == repair.KindSpares {
		if !s.Answers() {
			d.refuse(p, msg.Space, msg.Session)
			return
		}
		d.Counters.Helped++
		a, bytes := repair.FirstItems(s.Store.In(msg.Dots, crdt.Dot{}), d.Cfg.FrameMax)
		a.ID = msg.ID
		d.sendItems(p, msg.Space, msg.Session, a, bytes)
		return
	}
	n := d.donors.Find(p.ID, uint8(msg.Space), msg.Session)
	if n == nil {
		d.refuse(p, msg.Space, msg.Session)
		return
	}
	n.Touch(d.Now.Add(d.Cfg.DonorExpiry))
	var a repair.Answer
	bytes := 0
	switch msg.Kind {
	case repair.KindItems:
		a, bytes = repair.FirstItems(n.Items(msg.Dots), d.Cfg.FrameMax)
	case repair.KindNames:
		a = n.Names(msg.Dots, d.Cfg.FrameMax)
	case repair.KindSums:
		a = n.Sums(msg.Dots, msg.Sizes)
	}
	a.ID = msg.ID
	d.sendItems(p, msg.Space, msg.Session, a, bytes)
}

// sendItems sends an answer whose items take about so many bytes.
func (d *donating) sendItems(p *replica.Peer, s keyspace.Space, session uint64, a repair.Answer, bytes int) {
	msg := &wire.Items{
		Epoch: d.View.Epoch, Space: s, Session: session, ID: a.ID, UpTo: a.UpTo, Names: a.Names,
		Sums: a.Sums, Items: a.Items,
	}
	if bytes <= d.Cfg.FrameMax {
		d.Send(p, effect.Bulk, msg)
		return
	}
	if !d.SendLarge(p, msg, bytes) {
		d.Counters.FlowsDropped++ // the peer asks again
	}
}

// onDone forgets what is not needed any more.
func (d *donating) onDone(p *replica.Peer, msg *wire.Done) {
	if d.donors.Close(p.ID, uint8(msg.Space), msg.Session) {
		d.Counters.Donated++
	}
}

// onTime makes cells. It forgets the donations that have expired, and those to peers that have
// left.
func (d *donating) onTime() {
	d.donors.Expire(d.Now, d.Left)
	for _, n := range d.donors.All() {
		d.workFor(n)
	}
}
