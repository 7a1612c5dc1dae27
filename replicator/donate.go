package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
)

// donation is one repair from the donor's side: a pinned moment of the store, from which the
// puller's questions are answered (donate_answer.go). Nothing is remembered of what was sent: a
// question that is repeated is answered again.
type donation struct {
	to      *peer
	s       *space
	session uint64
	pin     *crdt.Pinned
	news    *crdt.Clock // dots that the puller's clock lacks
	within  *crdt.Clock // dots that both clocks have
	rows    []*cellRow
	until   time.Time // without a new request until then, forget it
}

// cellRow is the sketch with one key that a puller asks for.
type cellRow struct {
	key    uint64
	made   *crdt.Sketcher
	from   int // cells wanted and not sent
	wanted int
}

// rowsMax bounds the keys that one puller may ask for: the kept sketch's and one more.
const rowsMax = 2

// onPull pins the store and begins to tell. A replica that has not caught up does not donate (R4).
func (m *Machine) onPull(p *peer, msg *Pull) {
	m.donors = slices.DeleteFunc(m.donors, func(d *donation) bool {
		return d.to == p && d.s.id == msg.Space && d.session != msg.Session
	})
	d := m.donation(p, msg.Space, msg.Session)
	if d == nil {
		if !m.spaces[msg.Space].answers() || len(m.donors) >= m.cfg.DonorsMax {
			m.refuse(p, msg.Space, msg.Session)
			return
		}
		d = newDonation(p, m.spaces[msg.Space], msg)
		m.donors = append(m.donors, d)
	}
	d.s.learnContent(p, msg.Content)
	d.s.yieldPull(p)
	d.touch()
	m.send(p, Bulk, &Head{
		Epoch: m.view.Epoch, Space: d.s.id, Session: d.session, Clock: d.pin.Clock(), Digest: d.pin.Digest(), Items: uint64(d.pin.Len()),
	})
	d.giveItems(0, d.news)
	if !d.within.Empty() {
		d.want(0, 0, firstCells)
	}
}

func newDonation(p *peer, s *space, msg *Pull) *donation {
	pin := s.store.Pin()
	return &donation{
		to: p, s: s, session: msg.Session, pin: pin, news: pin.Clock().Minus(msg.Content), within: pin.Clock().And(msg.Content),
	}
}

func (m *Machine) refuse(p *peer, s Space, session uint64) {
	m.send(p, Prompt, &Refuse{Epoch: m.view.Epoch, Space: s, Session: session})
}

func (m *Machine) donation(p *peer, s Space, session uint64) *donation {
	for _, d := range m.donors {
		if d.to == p && d.s.id == s && d.session == session {
			return d
		}
	}
	return nil
}

// reconciling reports whether a peer is about to learn what it shares with this replica. If so, it
// is better to wait until the peer has learned it.
func (s *space) reconciling(p *peer) bool {
	return slices.ContainsFunc(s.m.donors, func(d *donation) bool { return d.to == p && d.s == s && !d.within.Empty() })
}

func (d *donation) touch() { d.until = d.s.m.now.Add(d.s.m.cfg.DonorExpiry) }

// onMoreCells sends cells, now or when they are made.
func (m *Machine) onMoreCells(p *peer, msg *MoreCells) {
	d := m.donation(p, msg.Space, msg.Session)
	if d == nil {
		m.refuse(p, msg.Space, msg.Session)
		return
	}
	d.touch()
	if uint64(msg.From)+uint64(msg.Count) > iblt.CellsMax || d.row(msg.Key) == nil && len(d.rows) >= rowsMax {
		m.malformed(p)
		m.refuse(p, msg.Space, msg.Session)
		return
	}
	d.want(msg.Key, int(msg.From), int(msg.Count))
}

func (d *donation) row(key uint64) *cellRow {
	for _, r := range d.rows {
		if r.key == key {
			return r
		}
	}
	return nil
}

// want notes which cells are wanted, and sends them if they are there.
func (d *donation) want(key uint64, from, count int) {
	r := d.row(key)
	if r == nil {
		r = &cellRow{key: key}
		d.rows = append(d.rows, r)
	}
	r.from, r.wanted = from, from+count
	if r.made == nil || r.made.Done() && len(r.made.Cells()) < r.wanted {
		r.made = d.pin.Sketcher(key, sketchSize(r.wanted), d.within)
	}
	d.work()
}

// work does a bounded part of the work that is wanted, and reports whether more is left to do.
func (d *donation) work() (busy bool) {
	for _, r := range d.rows {
		if r.from == r.wanted {
			continue
		}
		if !r.made.Work(workItems) {
			return true
		}
		if len(r.made.Cells()) < r.wanted { // more was wanted meanwhile
			r.made = d.pin.Sketcher(r.key, sketchSize(r.wanted), d.within)
			return true
		}
		d.sendCells(r)
	}
	return false
}

func (d *donation) sendCells(r *cellRow) {
	m := d.s.m
	most := max(1, m.cfg.FrameMax/iblt.CellBytes)
	for r.from < r.wanted {
		n := min(most, r.wanted-r.from)
		m.send(d.to, Bulk, &Cells{
			Epoch: m.view.Epoch, Space: d.s.id, Session: d.session, Key: r.key, From: uint32(r.from), Cells: r.made.Cells()[r.from : r.from+n],
		})
		r.from += n
	}
}

// busy reports whether cells are being made.
func (d *donation) busy() bool {
	return slices.ContainsFunc(d.rows, func(r *cellRow) bool { return r.from != r.wanted })
}

// onDone forgets what is not needed any more.
func (m *Machine) onDone(p *peer, msg *Done) {
	if d := m.donation(p, msg.Space, msg.Session); d != nil {
		m.stats.Donated++
		m.donors = slices.DeleteFunc(m.donors, func(x *donation) bool { return x == d })
	}
}

// onDonorTime makes cells. It forgets the donations that have expired, and those to peers that have
// left.
func (m *Machine) onDonorTime() {
	m.donors = slices.DeleteFunc(m.donors, func(d *donation) bool {
		return !m.now.Before(d.until) || m.left(d.to)
	})
	for _, d := range m.donors {
		d.work()
	}
}

// deadline returns when the donation needs work again.
func (d *donation) deadline() time.Time {
	if d.busy() {
		return d.s.m.now
	}
	return d.until
}
