package replicator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

// donation is one repair from the donor's side: a pinned moment of the store, sorted into what the puller has heard of, which is named by
// its dot, and what he has not, which is sent whole.
//
// Invariants: acked ≤ sent ≤ len(starts); piece i begins at starts[i]; starts grows by one with each piece that is made.
type donation struct {
	to      *peer
	s       *space
	session uint64
	clock   *crdt.Clock
	digest  crdt.Digest
	live    []crdt.Range
	items   []*crdt.Item
	starts  []place
	sent    uint32
	acked   uint32
	total   uint32    // pieces, once the last has been made; 0: not yet
	until   time.Time // nobody has asked for longer: forget it
}

// place is where a piece begins: first in live, then in items.
type place struct{ live, item int }

// onPull pins the store and begins to send. A replica that has not caught up does not donate (R4).
func (m *Machine) onPull(p *peer, msg *Pull) {
	m.donors = slices.DeleteFunc(m.donors, func(d *donation) bool {
		return d.to == p && d.s.id == msg.Space && d.session != msg.Session
	})
	d := m.donation(p, msg.Space, msg.Session)
	if d == nil {
		if !m.spaces[msg.Space].answers() || len(m.donors) >= m.cfg.DonorsMax {
			m.send(p, Prompt, &Refuse{Epoch: m.view.Epoch, Space: msg.Space, Session: msg.Session})
			return
		}
		d = newDonation(p, m.spaces[msg.Space], msg)
		m.donors = append(m.donors, d)
	}
	d.s.learnContent(p, msg.Content)
	d.sent = d.acked
	m.pumpDonation(d)
}

func newDonation(p *peer, s *space, msg *Pull) *donation {
	snap := s.store.Snapshot()
	d := &donation{to: p, s: s, session: msg.Session, clock: snap.Clock(), digest: snap.Digest(), starts: []place{{}}}
	var known []crdt.Dot
	for it := range snap.Items() {
		if msg.Content.Has(it.Dot) {
			known = append(known, it.Dot)
		} else {
			d.items = append(d.items, it)
		}
	}
	slices.SortFunc(known, crdt.Dot.Compare)
	d.live = runs(known)
	return d
}

// runs joins sorted dots into ranges.
func runs(dots []crdt.Dot) []crdt.Range {
	var out []crdt.Range
	for _, d := range dots {
		if n := len(out); n > 0 && out[n-1].Origin == d.Origin && out[n-1].Last+1 == d.Seq {
			out[n-1].Last++
		} else {
			out = append(out, crdt.Range{Origin: d.Origin, First: d.Seq, Last: d.Seq})
		}
	}
	return out
}

func (m *Machine) donation(p *peer, s Space, session uint64) *donation {
	for _, d := range m.donors {
		if d.to == p && d.s.id == s && d.session == session {
			return d
		}
	}
	return nil
}

// pumpDonation sends the pieces that the window allows.
func (m *Machine) pumpDonation(d *donation) {
	d.until = m.now.Add(m.cfg.DonorExpiry)
	for d.sent < d.acked+uint32(m.cfg.PieceWindow) && (d.total == 0 || d.sent < d.total) {
		msg, bytes := d.piece(d.sent, m.cfg.FrameMax)
		msg.Epoch = m.view.Epoch
		if bytes > m.cfg.FrameMax {
			m.sendLarge(d.to, msg)
		} else {
			m.send(d.to, Bulk, msg)
		}
		d.sent++
	}
}

// Estimated bytes of a range and of an item beside its strings.
const (
	rangeBytes = 20
	itemBytes  = 24
)

// piece makes the i-th piece, whose beginning is known.
func (d *donation) piece(i uint32, frame int) (msg *Piece, bytes int) {
	at := d.starts[i]
	msg = &Piece{Space: d.s.id, Session: d.session, Index: i}
	if i == 0 {
		msg.Clock, msg.Digest = d.clock, d.digest
	}
	if at.live < len(d.live) {
		msg.Live = &crdt.Clock{}
	}
	for ; at.live < len(d.live) && bytes+rangeBytes <= frame; at.live++ {
		r := d.live[at.live]
		msg.Live.AddRange(r.Origin, r.First, r.Last)
		bytes += rangeBytes
	}
	for at.live == len(d.live) && at.item < len(d.items) {
		it := d.items[at.item]
		size := itemBytes + len(it.Key) + len(it.Path) + len(it.Payload)
		if bytes > 0 && bytes+size > frame {
			break
		}
		msg.Items = append(msg.Items, it)
		bytes += size
		at.item++
	}
	if msg.Last = at.live == len(d.live) && at.item == len(d.items); msg.Last {
		d.total = i + 1
	} else if int(i)+1 == len(d.starts) {
		d.starts = append(d.starts, at)
	}
	return msg, bytes
}

// onPieceAck goes on, from where the puller says.
func (m *Machine) onPieceAck(p *peer, msg *PieceAck) {
	d := m.donation(p, msg.Space, msg.Session)
	if d == nil {
		if msg.Again { // it has expired here
			m.send(p, Prompt, &Refuse{Epoch: m.view.Epoch, Space: msg.Space, Session: msg.Session})
		}
		return
	}
	if msg.Next > d.sent {
		m.stats.Malformed++
		return
	}
	d.acked = max(d.acked, msg.Next)
	if msg.Again {
		d.acked, d.sent = msg.Next, msg.Next
	}
	if d.total != 0 && d.acked == d.total {
		m.stats.Donated++
		m.donors = slices.DeleteFunc(m.donors, func(x *donation) bool { return x == d })
		return
	}
	m.pumpDonation(d)
}

// expireDonors forgets the snapshots that nobody asks for any more, and those for who has left.
func (m *Machine) expireDonors() {
	m.donors = slices.DeleteFunc(m.donors, func(d *donation) bool {
		return !m.now.Before(d.until) || m.peer(d.to.id) != d.to
	})
}
