package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/repair"
)

// repairHost is a space as package repair sees it: a host and a line.
type repairHost struct{ s *space }

var (
	_ repair.Host = repairHost{}
	_ repair.Line = repairHost{}
)

func newPuller(s *space) *repair.Puller {
	cfg, st := &s.m.cfg, &s.m.stats
	return repair.NewPuller(repair.Env{
		Limits: repair.Limits{FrameMax: cfg.FrameMax, PieceWindow: cfg.PieceWindow, SuppliersMax: cfg.SuppliersMax, SketchMax: cfg.SketchMax},
		Counters: repair.Counters{
			DonorsReplaced: &st.DonorsReplaced, RepairAlarms: &st.RepairAlarms, SketchCells: &st.SketchCells,
			SketchesFailed: &st.SketchesFailed, RangeRepairs: &st.RangeRepairs,
		},
		Host: repairHost{s}, Line: repairHost{s}, Rand: s.m.rng, Store: s.store, TrustSketch: cfg.Defects.TrustSketch,
	})
}

// Now is the time of the step.
func (h repairHost) Now() time.Time { return h.s.m.now }

// RetryAt is when to ask again after so many vain tries.
func (h repairHost) RetryAt(tries int) time.Time { return h.s.m.now.Add(h.s.m.backoff(tries)) }

// Suppliers are the voters among the peers, the reachable ones first.
func (h repairHost) Suppliers() (out []repair.Supplier) {
	for _, p := range h.s.m.favoured(h.s.m.peers, false) {
		if p.voter {
			out = append(out, repair.Supplier{ID: p.id, Reachable: p.reachable})
		}
	}
	return out
}

// Progress is how messages in parts get on between a peer and this replica.
func (h repairHost) Progress(of crdt.Origin, session uint64) repair.Progress {
	p := h.s.m.peer(of)
	if p == nil {
		return repair.Progress{}
	}
	flow, open := p.coming.Coming()
	return repair.Progress{Moved: p.flows.Moved() + p.coming.Moved(), Coming: flow, Open: open, Carries: p.flows.Carries(session)}
}

// Malformed notes that what a peer sent makes no sense.
func (h repairHost) Malformed(from crdt.Origin) {
	if p := h.s.m.peer(from); p != nil {
		h.s.m.malformed(p)
	}
}

// Broken notes that a repair has ended without its end.
func (h repairHost) Broken(from crdt.Origin, began time.Time) {
	h.s.m.stats.RepairsBroken++
	h.s.tellRepair(from, RepairBroken, 0, began)
}

// Pull asks a donor to begin.
func (h repairHost) Pull(to crdt.Origin, session uint64, content *crdt.Clock) {
	h.send(to, &Pull{Epoch: h.s.m.view.Epoch, Space: h.s.id, Session: session, Content: content})
}

// MoreCells asks for cells of the donor's sketch.
func (h repairHost) MoreCells(to crdt.Origin, session, key uint64, from, count uint32) {
	h.send(to, &MoreCells{Epoch: h.s.m.view.Epoch, Space: h.s.id, Session: session, Key: key, From: from, Count: count})
}

// Ask asks about dots.
func (h repairHost) Ask(to crdt.Origin, session uint64, id uint32, kind repair.Kind, dots *crdt.Clock, sizes []uint64) {
	h.send(to, &FetchItems{Epoch: h.s.m.view.Epoch, Space: h.s.id, Session: session, ID: id, Kind: kind, Dots: dots, Sizes: sizes})
}

// Done tells a donor that it need not keep the session any more.
func (h repairHost) Done(to crdt.Origin, session uint64) {
	h.send(to, &Done{Epoch: h.s.m.view.Epoch, Space: h.s.id, Session: session})
}

func (h repairHost) send(to crdt.Origin, msg Message) {
	if p := h.s.m.peer(to); p != nil {
		h.s.m.send(p, Prompt, msg)
	}
}

// beginPull begins a repair; union: the clocks are equal and the digests are not.
func (s *space) beginPull(p *peer, union bool) {
	s.puller.Begin(p.id, union)
	s.tellRepair(p.id, RepairBegan, 0, s.m.now)
}

func (s *space) onHead(p *peer, msg *Head) {
	s.takeRepair(s.puller.OnHead(p.id, msg.Session, msg.Clock, msg.Digest, msg.Items))
}

func (s *space) onCells(p *peer, msg *Cells) {
	s.takeRepair(s.puller.OnCells(p.id, msg.Session, repair.Cells{Key: msg.Key, From: msg.From, Cells: msg.Cells}))
}

func (s *space) onItems(p *peer, msg *Items) {
	a := repair.Answer{ID: msg.ID, UpTo: msg.UpTo, Names: msg.Names, Sums: msg.Sums, Items: msg.Items}
	s.takeRepair(s.puller.OnItems(p.id, msg.Session, a))
}

func (s *space) onRefuse(p *peer, msg *Refuse) { s.takeRepair(s.puller.OnRefuse(p.id, msg.Session)) }

// takeRepair makes what adds up part of the store.
func (s *space) takeRepair(g *repair.Staged) {
	if g == nil {
		return
	}
	p := s.m.peer(g.From)
	if g.Union {
		s.unite(p, g)
		return
	}
	if g.Merge(s.rep, &s.ch) != nil {
		s.ch.Reset()
		s.m.malformed(p)
		repairHost{s}.Broken(g.From, g.Since)
		return
	}
	s.repaired(g)
	s.absorb()
	s.learnContent(p, g.Clock)
	s.release()
	// What the donor has got since comes from its log. The donor may lack what is here.
	s.tellClock(p, true)
}

func (s *space) repaired(g *repair.Staged) {
	s.m.stats.Repairs++
	s.tellRepair(g.From, RepairDone, g.Count, g.Since)
}

// unite adds what an equal clock's store has and this one lost. If this replica has moved on, lost
// items cannot be told from removed ones any more: then the next alarm tries again.
func (s *space) unite(p *peer, g *repair.Staged) {
	items := g.Items()
	s.agree(p, items)
	if !g.Clock.Equal(s.content()) {
		repairHost{s}.Broken(g.From, g.Since)
		return
	}
	s.rep.Union(items, &s.ch)
	s.repaired(g)
	s.absorb()
}

// agree sees that one dot stands for one item: of two that differ, both sides keep the one whose
// hash is lower. It is right whatever has happened since, for both are alive.
func (s *space) agree(from *peer, items []crdt.Item) {
	lower, differ := s.store.Yield(items, &s.ch)
	s.absorb() // first out, then in: for the disk they are one row
	s.rep.Union(lower, &s.ch)
	s.absorb()
	s.m.stats.Diverged += uint64(len(differ))
	for _, d := range differ[:min(len(differ), divergedMax)] {
		if it, ok := s.store.Item(d); ok {
			s.m.eff.Diverged = append(s.m.eff.Diverged, Divergence{Space: s.id, Peer: from.id, Dot: d, Key: it.Key, Dots: len(differ)})
		}
	}
}

// left reports whether an origin is no other member of the installed view.
func (m *Machine) left(id crdt.Origin) bool { return m.peer(id) == nil }
